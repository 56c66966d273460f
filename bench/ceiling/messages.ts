import { asBuffer, elementsOf, stringValue, type RawElement } from '../../mongo/raw-bson.ts';

const opMsg = 2013;
const headerBytes = 16;
/** After the header: the flags, and the kind of the first section, which is the command. */
const commandAt = headerBytes + 5;
const flagsAndKind = Buffer.alloc(5);
/** The least that an array of a reply has, which is empty. */
const emptyArrayBytes = 5;

/** A command on its way to a server. */
export interface Command {
  readonly requestId: number;
  /** Of the database. */
  readonly db: string;
  readonly name: string;
  readonly fields: ReadonlyMap<string, RawElement>;
  readonly message: Buffer;
}

/** Cuts what arrives on a connection into messages of the wire protocol. */
export class Messages {
  #chunks: Buffer[] = [];
  #length = 0;

  /** The messages that are complete with this chunk. */
  *add(chunk: Buffer): Generator<Buffer> {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    while (this.#length >= 4) {
      let [first = Buffer.alloc(0)] = this.#chunks;
      if (first.length < 4) first = this.#joined();
      const length = first.readInt32LE(0);
      if (this.#length < length) return;
      const all = this.#joined();
      this.#chunks = all.length > length ? [all.subarray(length)] : [];
      this.#length = all.length - length;
      yield all.subarray(0, length);
    }
  }

  #joined(): Buffer {
    const [first] = this.#chunks;
    const all = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all;
  }
}

/** The command of a message; undefined for one of another kind. */
export function commandOf(message: Buffer): Command | undefined {
  if (message.readInt32LE(12) !== opMsg || message[commandAt - 1] !== 0) return undefined;
  const elements = elementsOf(message, commandAt);
  const fields = new Map(elements.map((element) => [element.name, element]));
  const db = fields.get('$db');
  const [first] = elements;
  if (!db || !first) return undefined;
  const requestId = message.readInt32LE(4);
  return { requestId, db: stringValue(db), name: first.name, fields, message };
}

/** An integer of a command. */
export function integerOf({ bytes, offset, length }: RawElement): bigint {
  const buffer = asBuffer(bytes);
  return length === 8 ? buffer.readBigInt64LE(offset) : BigInt(buffer.readInt32LE(offset));
}

/** How many documents a write command has: in its sequence, or in a field. */
export function countOf({ message, fields }: Command, field: string): number {
  const inline = fields.get(field);
  if (inline) return elementsOf(inline.bytes, inline.offset).length;
  let count = 0;
  let at = commandAt + message.readInt32LE(commandAt);
  while (at < message.length && message[at] === 1) {
    const end = at + 1 + message.readInt32LE(at + 1);
    at = message.indexOf(0, at + 5) + 1;
    for (; at < end; at += message.readInt32LE(at)) count++;
  }
  return count;
}

/** The parts of a reply with this body. */
export function replyTo(requestId: number, ...body: readonly Buffer[]): Buffer[] {
  const header = Buffer.alloc(headerBytes);
  const length = body.reduce((sum, part) => sum + part.length, headerBytes + flagsAndKind.length);
  header.writeInt32LE(length, 0);
  header.writeInt32LE(requestId, 8);
  header.writeInt32LE(opMsg, 12);
  return [header, flagsAndKind, ...body];
}

/** A reply that was recorded, as one to another request. */
export function asReplyTo(requestId: number, recorded: Buffer): Buffer[] {
  const header = Buffer.from(recorded.subarray(0, headerBytes));
  header.writeInt32LE(requestId, 8);
  return [header, recorded.subarray(headerBytes)];
}

/** Whether a reply to a getMore has documents. */
export function hasDocuments(reply: Buffer): boolean {
  const cursor = elementsOf(reply, commandAt).find(({ name }) => name === 'cursor');
  if (!cursor) return false;
  const batch = elementsOf(cursor.bytes, cursor.offset).find(({ name }) => name === 'nextBatch');
  return batch !== undefined && batch.length > emptyArrayBytes;
}

/** A batch of a cursor, as the parts of a reply's body: the array of documents is not copied. */
export function batchOf(
  cursorId: bigint,
  namespace: string,
  name: 'firstBatch' | 'nextBatch',
  array: Buffer,
): Buffer[] {
  const id = Buffer.alloc(8);
  id.writeBigInt64LE(cursorId);
  const before = Buffer.concat([
    Buffer.from([0x12]),
    Buffer.from('id\0'),
    id,
    Buffer.from([0x02]),
    Buffer.from('ns\0'),
    int32(namespace.length + 1),
    Buffer.from(`${namespace}\0\x04${name}\0`),
  ]);
  const cursorLength = 4 + before.length + array.length + 1;
  const ok = Buffer.concat([Buffer.from('\0\x01ok\0'), double(1), Buffer.from([0])]);
  const start = Buffer.concat([Buffer.from('\x03cursor\0'), int32(cursorLength), before]);
  const length = 4 + start.length + array.length + ok.length;
  return [int32(length), start, array, ok];
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}
