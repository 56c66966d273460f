import { Binary, type Document } from 'mongodb';
import { valueEnd } from './element-scan.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { bsonType, emptyDocumentBytes } from './raw-bson.ts';
import { SyncError } from '../service/errors.ts';

const opReply = 1;
const opMsg = 2013;

/** Where the document begins: after header, flags and the kind of the section; or header, flags, cursor, place and count. */
const documentOffset: ReadonlyMap<number, number> = new Map([
  [opMsg, 21],
  [opReply, 36],
]);

/** The lower 16 flags are those that a reader has to know; this one says that more answers follow. */
const requiredFlags = 0xff_ff;
const moreToCome = 2;

/** At most 250 levels of a document (`maxBSONDepth`, src/mongo/bson/bson_depth.h), and the levels of an answer around it. */
const maxLevels = 256;

/**
 * Checks an answer before the driver (7.8) reads it: the driver trusts lengths, and reads some values only when they are used.
 * @param message - a message as received, unpacked.
 * @param unread - a field of the answer whose value stays bytes: its reader checks it.
 * @throws MalformedAnswer if it is not an answer, or holds something that is not BSON.
 */
export function checkAnswer(message: Buffer, unread?: string): void {
  const kind = message.readInt32LE(12);
  const offset = documentOffset.get(kind);
  if (offset === undefined) throw new MalformedAnswer(`a message of kind ${kind}`);
  if (message.length < offset + emptyDocumentBytes)
    throw new MalformedAnswer(`a message of ${message.length} bytes, which holds no document`);
  const isOfForm =
    kind === opMsg
      ? (message.readInt32LE(16) & requiredFlags & ~moreToCome) === 0 && message[20] === 0
      : message.readInt32LE(32) === 1;
  if (!isOfForm) throw new MalformedAnswer('an answer that does not hold exactly one document');
  checkDocument(message, offset, message.length, 1, unread);
}

/** The document of a checked answer, shared with the message. */
export function documentOf(message: Buffer): Buffer {
  return message.subarray(documentOffset.get(message.readInt32LE(12)));
}

function checkDocument(
  bytes: Buffer,
  offset: number,
  end: number,
  level: number,
  unread?: string,
): void {
  if (level > maxLevels) throw new MalformedAnswer(`a document of more than ${maxLevels} levels`);
  const last = end - 1;
  if (end - offset < emptyDocumentBytes || bytes.readInt32LE(offset) !== end - offset)
    throw new MalformedAnswer('a document whose length is not the declared one');
  if (bytes[last] !== 0) throw new MalformedAnswer('an unterminated document');
  let at = offset + 4;
  while (at < last) {
    const type = bytes[at] ?? 0;
    const nameEnd = bytes.indexOf(0, at + 1);
    const value = nameEnd + 1;
    // A name without an end ends at the zero byte of its document: its value lies beyond that.
    const next = valueEnd(bytes, type, value);
    if (next > last) throw new MalformedAnswer('a value that is longer than its document');
    if (unread === undefined || bytes.toString('latin1', at + 1, nameEnd) !== unread)
      checkValue(bytes, type, value, next, level);
    at = next;
  }
}

/** Checks what the length of a value does not show. */
function checkValue(bytes: Buffer, type: number, at: number, end: number, level: number): void {
  switch (type) {
    case bsonType.document:
    case bsonType.array:
      checkDocument(bytes, at, end, level + 1);
      break;
    case bsonType.string:
    case bsonType.symbol:
    case bsonType.code:
      requireEnd(bytes, end);
      break;
    case bsonType.codeWithScope: {
      const scope = valueEnd(bytes, bsonType.code, at + 4);
      if (scope > end) throw new MalformedAnswer('a value that is longer than its document');
      requireEnd(bytes, scope);
      checkDocument(bytes, scope, end, level + 1);
      break;
    }
    case bsonType.dbPointer:
      requireEnd(bytes, end - objectIdBytes);
      break;
    case bsonType.boolean:
      if ((bytes[at] ?? 0) > 1)
        throw new MalformedAnswer('a boolean that is neither true nor false');
      break;
    default:
  }
}

const objectIdBytes = 12;

function requireEnd(bytes: Buffer, end: number): void {
  if (bytes[end - 1] !== 0) throw new MalformedAnswer('an unterminated string');
}

/** Servers have 10,000 and 15,000 by default; RFC 7677 requires the fewest, and the most take a second. */
const iterationRange = { fewest: 4_096, most: 1_000_000 };

/** The longest text that a server sends in a login. */
const maxPayloadBytes = 16 * 1024;

/**
 * Checks a server's answer to the first message of a SCRAM login, before the driver (7.8) computes for as long as it says:
 * nothing interrupts that, not even the end of the process.
 * @throws SyncError AuthenticationFailed if it is not such an answer, or asks for more work than any login takes.
 */
export function checkLogin(command: Document, answer: Document): void {
  const { mechanism } = command['saslStart']
    ? command
    : ((command['speculativeAuthenticate'] as Document | undefined) ?? {});
  const said = command['saslStart']
    ? answer
    : (answer['speculativeAuthenticate'] as Document | undefined);
  if (!said || !String(mechanism).startsWith('SCRAM-')) return;
  const { payload, conversationId } = said as Readonly<Record<string, unknown>>;
  const bytes = payload instanceof Binary ? payload.value() : payload;
  const text =
    bytes instanceof Uint8Array && bytes.length <= maxPayloadBytes
      ? Buffer.from(bytes).toString('utf8')
      : '';
  const [, digits] = /^r=[^,]+,s=[^,]+,i=(\d{1,10})(?:,|$)/.exec(text) ?? [];
  // In a speculative login, the driver sends whatever it is.
  if (digits === undefined || conversationId === undefined)
    throw refused('the server does not answer the login according to SCRAM');
  const { fewest, most } = iterationRange;
  if (Number(digits) < fewest || Number(digits) > most)
    throw refused(`the server asks for ${digits} rounds in the login, not ${fewest} to ${most}`);
}

function refused(text: string): SyncError {
  return new SyncError('AuthenticationFailed', text);
}
