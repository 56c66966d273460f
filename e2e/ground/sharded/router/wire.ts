import { BSON, type Document } from 'mongodb';
import { asBuffer, type RawDocument } from '../../../../mongo/raw-bson.ts';

const headerBytes = 16;
const opReply = 1;
const opQuery = 2004;
const opMsg = 2013;
const checksumPresent = 1;
const moreToCome = 2;
const exhaustAllowed = 1 << 16;

/** More than the server's own limit of 48,000,000 bytes. */
const maxMessageBytes = 49_000_000;

/** Documents that travel beside a command (OP_MSG section of kind 1): the `documents` of an insert and the like. */
export interface DocumentSequence {
  readonly field: string;
  readonly documents: readonly RawDocument[];
}

/** A command as it came from a client. */
export interface IncomingCommand {
  readonly requestId: number;
  readonly body: RawDocument;
  readonly sequences: readonly DocumentSequence[];
  /** The first message of a connection may be of the old form, and wants an answer of that form. */
  readonly isOpQuery: boolean;
  readonly wantsNoAnswer: boolean;
  /** Whether it may be answered again and again. */
  readonly mayBeAnsweredAgain: boolean;
}

/** Cuts a stream of bytes into wire messages. */
export class MessageFramer {
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** The messages that are complete with this chunk. @throws Error for a length that no message has. */
  *push(chunk: Buffer): Generator<Buffer> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= headerBytes) {
      const length = this.#first(4).readInt32LE(0);
      if (length < headerBytes || length > maxMessageBytes) {
        throw new Error(`a wire message of ${length} bytes`);
      }
      if (this.#bytes < length) return;
      const first = this.#first(length);
      this.#chunks[0] = first.subarray(length);
      this.#bytes -= length;
      yield first.subarray(0, length);
    }
  }

  /** The first chunk, made at least as long as this. */
  #first(length: number): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= length) return first;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }
}

/** Reads a message of a client. @throws Error for what is not a command. */
export function parseCommand(message: Buffer): IncomingCommand {
  const requestId = message.readInt32LE(4);
  const opCode = message.readInt32LE(12);
  if (opCode === opQuery) {
    // flags, the zero-terminated name, two int32, then the command
    const nameEnd = message.indexOf(0, headerBytes + 4);
    const body = message.subarray(nameEnd + 9);
    const form = { isOpQuery: true, wantsNoAnswer: false, mayBeAnsweredAgain: false };
    return { requestId, body, sequences: [], ...form };
  }
  if (opCode !== opMsg) throw new Error(`wire messages of kind ${opCode} are not understood`);
  const flags = message.readInt32LE(headerBytes);
  const end = message.length - ((flags & checksumPresent) === 0 ? 0 : 4);
  const sequences: DocumentSequence[] = [];
  let body: Buffer | undefined;
  for (let offset = headerBytes + 4; offset < end;) {
    const length = message.readInt32LE(offset + 1);
    const section = message.subarray(offset + 1, offset + 1 + length);
    if (message[offset] === 0) body = section;
    else sequences.push(parseSequence(section));
    offset += 1 + length;
  }
  if (body === undefined) throw new Error('a wire message without a command');
  const wantsNoAnswer = (flags & moreToCome) !== 0;
  const mayBeAnsweredAgain = (flags & exhaustAllowed) !== 0;
  return { requestId, body, sequences, isOpQuery: false, wantsNoAnswer, mayBeAnsweredAgain };
}

function parseSequence(section: Buffer): DocumentSequence {
  const nameEnd = section.indexOf(0, 4);
  const documents: RawDocument[] = [];
  for (let offset = nameEnd + 1; offset < section.length;) {
    const length = section.readInt32LE(offset);
    documents.push(section.subarray(offset, offset + length));
    offset += length;
  }
  return { field: section.toString('utf8', 4, nameEnd), documents };
}

/** A command for a server, as an OP_MSG. */
export function commandMessage(
  requestId: number,
  body: RawDocument,
  sequences: readonly DocumentSequence[] = [],
): Buffer {
  const parts: Uint8Array[] = [Buffer.from([0]), body];
  for (const { field, documents } of sequences) {
    const name = Buffer.from(`${field}\0`);
    const head = Buffer.alloc(5);
    head[0] = 1;
    head.writeInt32LE(4 + name.length + lengthOf(documents), 1);
    parts.push(head, name, ...documents);
  }
  return message(opMsg, requestId, 0, [Buffer.alloc(4), ...parts]);
}

/**
 * The answer to a command of a client, in the form in which it came.
 * @param isLast - false when another answer to it follows.
 */
export function answerMessage(
  command: Pick<IncomingCommand, 'isOpQuery' | 'requestId'>,
  answer: RawDocument,
  isLast = true,
): Buffer {
  if (!command.isOpQuery) {
    const flags = Buffer.from([isLast ? 0 : moreToCome, 0, 0, 0, 0]);
    return message(opMsg, 0, command.requestId, [flags, answer]);
  }
  // flags (await capable), cursor id, starting from, number of documents
  const head = Buffer.alloc(20);
  head.writeInt32LE(8, 0);
  head.writeInt32LE(1, 16);
  return message(opReply, 0, command.requestId, [head, answer]);
}

/** The body of an OP_MSG answer of a server. */
export function answerBody(answer: Buffer): RawDocument {
  return answer.subarray(headerBytes + 5);
}

function message(
  opCode: number,
  requestId: number,
  responseTo: number,
  parts: readonly Uint8Array[],
): Buffer {
  const length = headerBytes + lengthOf(parts);
  const header = Buffer.alloc(headerBytes);
  header.writeInt32LE(length, 0);
  header.writeInt32LE(requestId, 4);
  header.writeInt32LE(responseTo, 8);
  header.writeInt32LE(opCode, 12);
  return Buffer.concat([header, ...parts], length);
}

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** Keeps the BSON type of every value, so that what is encoded again is what was there. */
export function decodeExactly(document: RawDocument): Document {
  return BSON.deserialize(asBuffer(document), {
    promoteValues: false,
    promoteBuffers: false,
    promoteLongs: false,
    bsonRegExp: true,
  });
}

/** For answers of servers: numbers are numbers, but for 64-bit integers. */
export function decode(document: RawDocument): Document {
  return BSON.deserialize(asBuffer(document), { promoteLongs: false, bsonRegExp: true });
}

export function encode(document: Document): RawDocument {
  return BSON.serialize(document, { ignoreUndefined: true });
}
