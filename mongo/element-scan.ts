import { MalformedAnswer } from './malformed-answer.ts';
import { bsonType, type RawElement } from './raw-bson.ts';

// Every copied document and every change event comes through here: allocate nothing that is not requested, and skip embedded
// values.

/** The length of a value by its type, without a length that it begins with; -1: not determined by the type. */
const valueLengths = new Int8Array(256).fill(-1);
/** For the types whose values begin with an int32 that says how many more bytes follow, its smallest value; -1 for others. */
const leastTold = new Int8Array(256).fill(-1);
for (const [type, length] of [
  [bsonType.double, 8],
  [bsonType.undefined, 0],
  [bsonType.objectId, 12],
  [bsonType.boolean, 1],
  [bsonType.date, 8],
  [bsonType.null, 0],
  [bsonType.int32, 4],
  [bsonType.timestamp, 8],
  [bsonType.int64, 8],
  [bsonType.decimal128, 16],
  [bsonType.maxKey, 0],
  [bsonType.minKey, 0],
] as const)
  valueLengths[type] = length;
for (const [type, length, least] of [
  [bsonType.string, 4, 1],
  [bsonType.document, 0, 5],
  [bsonType.array, 0, 5],
  [bsonType.binary, 5, 0],
  [bsonType.dbPointer, 16, 1],
  [bsonType.code, 4, 1],
  [bsonType.symbol, 4, 1],
  [bsonType.codeWithScope, 0, 14],
] as const) {
  valueLengths[type] = length;
  leastTold[type] = least;
}

/**
 * Where a value that begins at `at` ends: the place of the next element's type. It may lie beyond the end of the bytes.
 * @throws MalformedAnswer if no value has this form.
 */
export function valueEnd(bytes: Uint8Array, type: number, at: number): number {
  if (type === bsonType.regex) return textEnd(bytes, textEnd(bytes, at));
  const length = valueLengths[type] ?? -1;
  if (length < 0) throw new MalformedAnswer(`a value of BSON type ${type}`);
  const least = leastTold[type] ?? -1;
  if (least < 0) return at + length;
  const told = int32At(bytes, at);
  if (told < least) throw new MalformedAnswer(`a value of BSON type ${type} and length ${told}`);
  return at + length + told;
}

/** The offset after the zero byte that ends a text. */
function textEnd(bytes: Uint8Array, at: number): number {
  const end = bytes.indexOf(0, at);
  if (end < 0) throw new MalformedAnswer('an unterminated string');
  return end + 1;
}

function int32At(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] ?? 0) |
    ((bytes[at + 1] ?? 0) << 8) |
    ((bytes[at + 2] ?? 0) << 16) |
    ((bytes[at + 3] ?? 0) << 24)
  );
}

/** Finds the elements with certain names at the top level of raw documents, and skips the others. */
export class ElementPicker<Name extends string> {
  readonly #names: readonly { readonly name: Name; readonly bytes: Uint8Array }[];

  constructor(names: readonly Name[]) {
    this.#names = names.map((name) => ({ name, bytes: Buffer.from(name) }));
  }

  /**
   * The elements of the document that begins at `offset`, by name; if a name is repeated, the last.
   * @throws MalformedAnswer if it is not a document.
   */
  pick(bytes: Uint8Array, offset = 0): Readonly<Partial<Record<Name, RawElement>>> {
    const picked: Partial<Record<Name, RawElement>> = {};
    let at = offset + 4;
    for (let type = bytes[at] ?? 0; type !== 0; type = bytes[at] ?? 0) {
      const start = at + 1;
      at = start;
      while (at < bytes.length && bytes[at] !== 0) at++;
      const name = this.#nameAt(bytes, start, at - start);
      const value = at + 1;
      at = valueEnd(bytes, type, value);
      if (at >= bytes.length) throw new MalformedAnswer('a value that is longer than its document');
      if (name !== undefined)
        picked[name] = { type, name, bytes, offset: value, length: at - value };
    }
    return picked;
  }

  #nameAt(bytes: Uint8Array, start: number, length: number): Name | undefined {
    for (const { name, bytes: wanted } of this.#names)
      if (wanted.length === length && isAt(bytes, start, wanted)) return name;
    return undefined;
  }
}

function isAt(bytes: Uint8Array, start: number, wanted: Uint8Array): boolean {
  for (let index = 0; index < wanted.length; index++)
    if (bytes[start + index] !== wanted[index]) return false;
  return true;
}
