import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { asError } from '../service/errors.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { maxMessageBytes } from './message-reader.ts';

const inflated = promisify<Uint8Array, object, Buffer>(inflate);

const opCompressed = 2012;
const zlibId = 2;
const headerBytes = 16;

/** Header, the kind of the inner message, its length, and the number of the compressor. */
const packedHeaderBytes = headerBytes + 4 + 4 + 1;

/** Whether a message of the protocol contains another one, compressed. */
export function isPacked(message: Buffer): boolean {
  return message.readInt32LE(12) === opCompressed;
}

/**
 * The message inside another one, no longer than any message is: the driver (7.8) unpacks a thousand times what was sent.
 * @throws MalformedAnswer if it is longer than it says, or than a message can be, or is packed by anything but zlib, the only
 * compressor that clustersync includes.
 */
export async function unpacked(message: Buffer): Promise<Buffer> {
  if (message.length < packedHeaderBytes || message[packedHeaderBytes - 1] !== zlibId)
    throw new MalformedAnswer('a message that cannot be decompressed');
  const length = message.readInt32LE(headerBytes + 4);
  if (length < 0 || length > maxMessageBytes - headerBytes)
    throw new MalformedAnswer(`a compressed message of ${length} bytes`);
  // At least 1, as zlib requires.
  const limits = { maxOutputLength: length + 1 };
  const body = await inflated(message.subarray(packedHeaderBytes), limits).catch(
    (error: unknown) => {
      const cause = asError(error);
      const what = `a message that cannot be decompressed (${cause.message})`;
      throw new MalformedAnswer(what, undefined, cause);
    },
  );
  if (body.length !== length)
    throw new MalformedAnswer(`a compressed message of ${length} bytes that has ${body.length}`);
  const header = Buffer.from(message.subarray(0, headerBytes));
  header.writeInt32LE(headerBytes + length, 0);
  message.copy(header, 12, headerBytes, headerBytes + 4);
  return Buffer.concat([header, body]);
}
