import { asBuffer, bsonType, type RawArray, type RawDocument } from './raw-bson.ts';

/** Bytes of a value by its type, besides the length that it begins with where it does; -1: not known by that. */
const valueLengths = new Int8Array(256).fill(-1);
/** 1 for the types whose values begin with an int32 that tells how many more bytes there are. */
const hasLength = new Uint8Array(256);
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
for (const [type, length] of [
  [bsonType.string, 4],
  [bsonType.document, 0],
  [bsonType.array, 0],
  [bsonType.binary, 5],
  [bsonType.dbPointer, 16],
  [bsonType.code, 4],
  [bsonType.symbol, 4],
  [bsonType.codeWithScope, 0],
] as const) {
  valueLengths[type] = length;
  hasLength[type] = 1;
}

/**
 * True for a document with Timestamp(0, 0) in a field right at its top, other than `_id`. A server that inserts such a
 * document, or takes it as a replacement, puts its own time there; by a pipeline it does not (seen on 6.0.5).
 * Every copied document comes through here: nothing is allocated, and embedded documents are stepped over.
 */
export function hasZeroTimestamp(document: RawDocument): boolean {
  return isZeroTimestampIn(asBuffer(document), 0);
}

/** How many documents an array has, their bytes, and those among them that have a zero timestamp (see above). */
export function findZeroTimestamps(array: RawArray): {
  readonly count: number;
  readonly totalBytes: number;
  readonly found: readonly RawDocument[];
} {
  const bytes = asBuffer(array);
  const found: RawDocument[] = [];
  let count = 0;
  let totalBytes = 0;
  // Each element: type, a number as its name, the document.
  for (let at = 4; bytes[at] !== 0; count++) {
    while (bytes[++at] !== 0);
    const start = ++at;
    const length = bytes.readInt32LE(start);
    at += length;
    totalBytes += length;
    if (isZeroTimestampIn(bytes, start)) found.push(bytes.subarray(start, at));
  }
  return { count, totalBytes, found };
}

function isZeroTimestampIn(bytes: Buffer, start: number): boolean {
  let at = start + 4;
  for (let type = bytes[at] ?? 0; type !== 0; type = bytes[at] ?? 0) {
    const name = at + 1;
    at = name;
    while (bytes[at++] !== 0);
    if (type === bsonType.timestamp && bytes.readBigUInt64LE(at) === 0n && !isId(bytes, name, at))
      return true;
    if (type === bsonType.regex) {
      at = bytes.indexOf(0, bytes.indexOf(0, at) + 1) + 1;
      continue;
    }
    const length = valueLengths[type] ?? -1;
    if (length < 0) throw new Error(`a value of BSON type ${type}`);
    at += length + (hasLength[type] === 1 ? bytes.readInt32LE(at) : 0);
  }
  return false;
}

function isId(bytes: Buffer, start: number, end: number): boolean {
  return bytes.toString('latin1', start, end) === '_id\0';
}
