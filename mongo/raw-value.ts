import { BSON } from 'mongodb';
import { readingBson } from './malformed-answer.ts';
import { asBuffer, elementsOf, valueBytes, type RawElement } from './raw-bson.ts';

/** Decoding that keeps the BSON type of every value. Fields whose names are whole numbers come first, whatever their order. */
export const keepTypes = {
  promoteValues: false,
  promoteLongs: false,
  promoteBuffers: false,
  // The server's regular expressions are not all JavaScript's.
  bsonRegExp: true,
  validation: { utf8: false },
} as const;

/**
 * A value that passes through the driver as its original bytes. It loses no order of fields, no duplicate field, no text that
 * is not UTF-8, no date beyond JavaScript's. In a command it must be under its own name.
 *
 * The driver's serializer lets an ObjectId write its own bytes. This class poses as one, and replaces the type that the
 * serializer has written with the true one; raw-value.test.ts guards that, as the driver's version is pinned.
 */
export class RawValue extends BSON.BSONValue {
  readonly _bsontype = 'ObjectId';
  readonly name: string;
  readonly type: number;
  readonly #element: RawElement;

  /** @param element - kept as it is; its bytes must not change. */
  constructor(name: string, element: RawElement) {
    super();
    this.name = name;
    this.type = element.type;
    this.#element = element;
  }

  /** The value's own bytes, shared with their origin. */
  get bytes(): Uint8Array {
    return valueBytes(this.#element);
  }

  /** The elements of a document or array, in order. */
  elements(): RawElement[] {
    return elementsOf(this.bytes);
  }

  /** The value as the driver returns it, to be read, not sent on. */
  decode(): unknown {
    return decodeElement(this.#element);
  }

  /** Called by the driver, once it has written type, name and a zero byte. */
  serializeInto(buffer: Uint8Array, index: number): number {
    const typeAt = index - Buffer.byteLength(this.name) - 2;
    const written = asBuffer(buffer).toString('utf8', typeAt + 1, index - 1);
    if (written !== this.name)
      throw new Error(`the raw value ${this.name} is written under another name`);
    buffer[typeAt] = this.type;
    buffer.set(this.bytes, index);
    return this.bytes.length;
  }

  inspect(): string {
    return `RawValue(${this.name})`;
  }

  toJSON(): unknown {
    return this.decode();
  }
}

/** One value, decoded with its BSON type kept. @throws MalformedAnswer if it is not a value. */
export function decodeElement(element: RawElement): unknown {
  const bytes = valueBytes(element);
  const document = Buffer.allocUnsafe(bytes.length + 8);
  document.writeInt32LE(document.length, 0);
  document[4] = element.type;
  // The name '1'.
  document[5] = 0x31;
  document[6] = 0;
  document.set(bytes, 7);
  document[document.length - 1] = 0;
  const read = (): unknown => BSON.deserialize(document, keepTypes)['1'];
  return readingBson(read);
}
