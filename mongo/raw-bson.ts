import { isUtf8 } from 'node:buffer';
import { BSON, UUID } from 'mongodb';
import { MalformedAnswer, readingBson } from './malformed-answer.ts';

/** BSON type bytes used here. Source: bsonspec.org. */
export const bsonType = {
  double: 0x01,
  string: 0x02,
  document: 0x03,
  array: 0x04,
  binary: 0x05,
  undefined: 0x06,
  objectId: 0x07,
  boolean: 0x08,
  date: 0x09,
  null: 0x0a,
  regex: 0x0b,
  dbPointer: 0x0c,
  code: 0x0d,
  symbol: 0x0e,
  codeWithScope: 0x0f,
  int32: 0x10,
  timestamp: 0x11,
  int64: 0x12,
  decimal128: 0x13,
  maxKey: 0x7f,
  minKey: 0xff,
} as const;

/** A document as BSON bytes. */
export type RawDocument = Uint8Array;

/** An array of documents as BSON bytes. */
export type RawArray = Uint8Array;

/** One element of a raw document: where its value is in the bytes. */
export interface RawElement {
  readonly type: number;
  readonly name: string;
  /** The bytes that hold the value, shared with the document. */
  readonly bytes: Uint8Array;
  /** The value's first byte and length in `bytes`. */
  readonly offset: number;
  readonly length: number;
}

/**
 * The elements of a raw document (or of one that starts at `offset` of the bytes), in order, without decoding values.
 * @throws MalformedAnswer if it is not a document.
 */
export function elementsOf(bytes: RawDocument, offset = 0): RawElement[] {
  const elements: RawElement[] = [];
  for (const [type, nameOffset, nameLength, valueOffset, length] of parsed(bytes, offset)) {
    elements.push({
      type,
      name: utf8(bytes, nameOffset, nameLength),
      bytes,
      offset: valueOffset,
      length,
    });
  }
  return elements;
}

/** The value's own bytes, shared with the document. */
export function valueBytes(element: RawElement): Uint8Array {
  return element.bytes.subarray(element.offset, element.offset + element.length);
}

/** The raw documents in an array value, shared with the enclosing bytes. */
export function arrayDocuments(element: Pick<RawElement, 'bytes' | 'offset'>): RawDocument[] {
  const documents: RawDocument[] = [];
  forEachDocument(element, (offset, length) => {
    documents.push(element.bytes.subarray(offset, offset + length));
  });
  return documents;
}

/**
 * Visits the documents in an array value: where each begins in the bytes, and its length. The driver's parser makes a list for
 * each of them, which takes most of the time of a large batch.
 * @throws MalformedAnswer if the array has anything else.
 */
export function forEachDocument(
  { bytes, offset }: Pick<RawElement, 'bytes' | 'offset'>,
  visit: (offset: number, length: number) => void,
): void {
  const buffer = asBuffer(bytes);
  const end = offset + int32In(buffer, offset) - 1;
  let at = offset + 4;
  while (at < end) {
    if (bytes[at] !== bsonType.document)
      throw new MalformedAnswer('an array that holds something other than documents');
    // Names are decimal numbers of a few digits.
    do at += 1;
    while (at < end && bytes[at] !== 0);
    at += 1;
    const length = int32In(buffer, at);
    if (length < emptyDocumentBytes || at + length > end || bytes[at + length - 1] !== 0)
      throw new MalformedAnswer('a document that does not end where it should');
    visit(at, length);
    at += length;
  }
  if (at !== end || bytes[end] !== 0)
    throw new MalformedAnswer('an array that does not end where it should');
}

/** The size of an empty document: its length, and its end. */
export const emptyDocumentBytes = 5;

function int32In(buffer: Buffer, offset: number): number {
  if (offset + 4 > buffer.length) throw new MalformedAnswer('a value without its length');
  return buffer.readInt32LE(offset);
}

function parsed(
  bytes: RawDocument,
  offset = 0,
): ReturnType<(typeof BSON.onDemand)['parseToElements']> {
  return readingBson(() => BSON.onDemand.parseToElements(bytes, offset));
}

/** The text of a string (or symbol) value. */
export function stringValue(element: RawElement): string {
  // int32 length, the text, a zero byte
  return utf8(element.bytes, element.offset + 4, element.length - 5);
}

/**
 * The text of a string value.
 * @throws MalformedAnswer if it has another type.
 */
export function textValue(element: RawElement): string {
  requireType(element, bsonType.string);
  return stringValue(element);
}

/**
 * The bytes of an embedded document, shared with the enclosing bytes.
 * @throws MalformedAnswer if it has another type.
 */
export function documentValue(element: RawElement): RawDocument {
  requireType(element, bsonType.document);
  return valueBytes(element);
}

const uuidSubtype = 4;

/** The length of a UUID. */
export const uuidBytes = 16;

/**
 * A UUID as 32 hexadecimal digits.
 * @throws MalformedAnswer if it is not a UUID.
 */
export function uuidHexValue(element: RawElement): string {
  requireType(element, bsonType.binary);
  const { name, bytes, offset, length } = element;
  // int32 length, subtype byte, 16 bytes
  if (length !== 5 + uuidBytes || bytes[offset + 4] !== uuidSubtype)
    throw new MalformedAnswer(`a field ${name} that is not a UUID`);
  return asBuffer(bytes).toString('hex', offset + 5, offset + length);
}

/**
 * A UUID.
 * @throws MalformedAnswer if it is not a UUID.
 */
export function uuidValue(element: RawElement): UUID {
  return UUID.createFromHexString(uuidHexValue(element));
}

/** @throws MalformedAnswer if a value has another BSON type. */
export function requireType({ name, type }: RawElement, expected: number): void {
  if (type !== expected)
    throw new MalformedAnswer(`a field ${name} of BSON type ${type} instead of ${expected}`);
}

/** True for a string value that no JavaScript string can hold. The server accepts any bytes (6.0.5). */
export function isOddString({ type, bytes, offset, length }: RawElement): boolean {
  return type === bsonType.string && !isUtf8(bytes.subarray(offset + 4, offset + length - 1));
}

/**
 * The `_id` element of a raw document. Every stored document has one, mostly as its first element.
 * @throws MalformedAnswer if it has none.
 */
export function idElement(document: RawDocument): RawElement {
  for (const [type, nameOffset, nameLength, offset, length] of parsed(document)) {
    if (nameLength === 3 && utf8(document, nameOffset, 3) === '_id') {
      return { type, name: '_id', bytes: document, offset, length };
    }
  }
  throw new MalformedAnswer('a document without _id');
}

function utf8(bytes: Uint8Array, offset: number, length: number): string {
  return asBuffer(bytes).toString('utf8', offset, offset + length);
}

/** The same memory as a Buffer. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Builds one BSON document from values that are already bytes. */
export class RawWriter {
  #buffer: Buffer;
  #length = 0;
  readonly #starts: number[] = [];

  constructor(capacity = 256) {
    this.#buffer = Buffer.allocUnsafe(Math.max(capacity, 16));
    this.#open();
  }

  /** Adds a value that is already bytes. */
  value(name: string, element: Pick<RawElement, 'type' | 'bytes' | 'offset' | 'length'>): this {
    this.#name(element.type, name);
    this.#reserve(element.length);
    this.#buffer.set(
      element.bytes.subarray(element.offset, element.offset + element.length),
      this.#length,
    );
    this.#length += element.length;
    return this;
  }

  /** Adds a raw document as an embedded one. */
  document(name: string, bytes: RawDocument): this {
    return this.value(name, { type: bsonType.document, bytes, offset: 0, length: bytes.length });
  }

  /** Adds a pipeline that replaces a document with another exactly as it is, whatever its fields are called. */
  literalReplacement(name: string, bytes: RawDocument): this {
    return this.beginArray(name)
      .begin('0')
      .begin('$replaceWith')
      .document('$literal', bytes)
      .end()
      .end()
      .end();
  }

  string(name: string, value: string): this {
    this.#name(bsonType.string, name);
    const length = Buffer.byteLength(value);
    this.#reserve(length + 5);
    this.#length = this.#buffer.writeInt32LE(length + 1, this.#length);
    this.#length += this.#buffer.write(value, this.#length, 'utf8');
    this.#buffer[this.#length++] = 0;
    return this;
  }

  int32(name: string, value: number): this {
    this.#name(bsonType.int32, name);
    this.#reserve(4);
    this.#length = this.#buffer.writeInt32LE(value, this.#length);
    return this;
  }

  boolean(name: string, value: boolean): this {
    this.#name(bsonType.boolean, name);
    this.#reserve(1);
    this.#buffer[this.#length++] = value ? 1 : 0;
    return this;
  }

  /** Opens an embedded document, to be closed by `end`. */
  begin(name: string): this {
    this.#name(bsonType.document, name);
    this.#open();
    return this;
  }

  /** Opens an embedded array, to be closed by `end`; its elements are named '0', '1', ... */
  beginArray(name: string): this {
    this.#name(bsonType.array, name);
    this.#open();
    return this;
  }

  end(): this {
    const start = this.#starts.pop();
    if (start === undefined) throw new Error('end without begin');
    this.#reserve(1);
    this.#buffer[this.#length++] = 0;
    this.#buffer.writeInt32LE(this.#length - start, start);
    return this;
  }

  /** Closes the document and returns its bytes. */
  finish(): RawDocument {
    this.end();
    if (this.#starts.length > 0) throw new Error('an embedded document is still open');
    return this.#buffer.subarray(0, this.#length);
  }

  #open(): void {
    this.#reserve(4);
    this.#starts.push(this.#length);
    this.#length += 4;
  }

  #name(type: number, name: string): void {
    this.#reserve(name.length * 3 + 2);
    this.#buffer[this.#length++] = type;
    this.#length += this.#buffer.write(name, this.#length, 'utf8');
    this.#buffer[this.#length++] = 0;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
