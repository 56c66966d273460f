import { promisify } from 'node:util';
import { deflate, inflate, zstdCompress, zstdDecompress } from 'node:zlib';
import { asError } from '../service/errors.ts';
import { compressorIds, compressors, type Compressor } from './compressors.ts';
import { MalformedAnswer } from './malformed-answer.ts';

/** Length, request id, the request's id, kind. */
export const headerBytes = 16;

/** More than a server sends in one message, which is at most 48,000,000. */
export const maxMessageBytes = 64 * 1024 * 1024;

const opCompressed = 2012;

/** Header, the kind of the inner message, its length, and the number of the compressor. */
const packedHeaderBytes = headerBytes + 4 + 4 + 1;

interface Codec {
  readonly compress: (body: Buffer, level: number | undefined) => Promise<Buffer>;
  /** Rejects if the body is longer than `maxBytes`. */
  readonly decompress: (body: Buffer, maxBytes: number) => Promise<Buffer>;
}

const [compressZlib, decompressZlib] = [promisify(deflate), promisify(inflate)];
const [compressZstd, decompressZstd] = [promisify(zstdCompress), promisify(zstdDecompress)];

/** They work in threads of their own. */
const codecs = {
  zstd: {
    compress: async (body) => await compressZstd(body),
    decompress: async (body, maxOutputLength) => await decompressZstd(body, { maxOutputLength }),
  },
  zlib: {
    compress: async (body, level) => await compressZlib(body, level === undefined ? {} : { level }),
    decompress: async (body, maxOutputLength) => await decompressZlib(body, { maxOutputLength }),
  },
} as const satisfies Readonly<Record<Compressor, Codec>>;

/** Whether a message of the protocol contains another one, compressed. */
export function isPacked(message: Buffer): boolean {
  return message.readInt32LE(12) === opCompressed;
}

/** The message that contains another one, compressed. @param zlibLevel - 1 to 9; by default the library's own. */
export async function packed(
  message: Buffer,
  compressor: Compressor,
  zlibLevel?: number,
): Promise<Buffer> {
  const body = await codecs[compressor].compress(message.subarray(headerBytes), zlibLevel);
  const header = Buffer.alloc(packedHeaderBytes);
  message.copy(header, 0, 0, 12);
  header.writeInt32LE(packedHeaderBytes + body.length, 0);
  header.writeInt32LE(opCompressed, 12);
  message.copy(header, headerBytes, 12, headerBytes);
  header.writeInt32LE(message.length - headerBytes, headerBytes + 4);
  header[packedHeaderBytes - 1] = compressorIds[compressor];
  return Buffer.concat([header, body]);
}

/**
 * The message inside another one, no longer than any message is: the driver (7.8) unpacks a thousand times what was sent.
 * @throws MalformedAnswer if it is longer than it says, or than a message can be, or is packed by a compressor that is not
 * included.
 */
export async function unpacked(message: Buffer): Promise<Buffer> {
  const id = message[packedHeaderBytes - 1];
  const compressor = compressors.find((name) => compressorIds[name] === id);
  if (message.length < packedHeaderBytes || compressor === undefined)
    throw new MalformedAnswer('a message that cannot be decompressed');
  const length = message.readInt32LE(headerBytes + 4);
  if (length < 0 || length > maxMessageBytes - headerBytes)
    throw new MalformedAnswer(`a compressed message of ${length} bytes`);
  // At least 1, as zlib requires.
  const unpacking = codecs[compressor].decompress(message.subarray(packedHeaderBytes), length + 1);
  const body = await unpacking.catch((error: unknown) => {
    const cause = asError(error);
    const what = `a message that cannot be decompressed (${cause.message})`;
    throw new MalformedAnswer(what, undefined, cause);
  });
  if (body.length !== length)
    throw new MalformedAnswer(`a compressed message of ${length} bytes that has ${body.length}`);
  const header = Buffer.from(message.subarray(0, headerBytes));
  header.writeInt32LE(headerBytes + length, 0);
  message.copy(header, 12, headerBytes, headerBytes + 4);
  return Buffer.concat([header, body]);
}
