// Node's sockets read into the caller's memory if they are created with `onread`; the driver creates them without it. What that
// option sets is internal to Node: message-reader.test.ts guards it.
import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { asError } from '../service/errors.ts';
import { MalformedAnswer } from './malformed-answer.ts';

/** The size of the buffer for reads while nothing larger is expected. */
const scratchBytes = 16 * 1024;

/** Length, request id, the request's id, kind. */
const headerBytes = 16;

/** More than a server sends in one message, which is at most 48,000,000. */
export const maxMessageBytes = 64 * 1024 * 1024;

/** Callbacks for a socket's messages. */
export interface MessageHandlers {
  /** Gets each message, which it may keep. */
  readonly take: (message: Buffer) => void;
  /** Called whenever bytes have arrived. */
  readonly onBytes: () => void;
  /** Called if something arrives that is not a message; nothing more is read. */
  readonly fail: (error: Error) => void;
}

/**
 * Takes over the reading from a connected socket: the network reads each message of MongoDB's protocol into a buffer of its
 * own. By default Node reads into new pieces of 64 KiB at most, and the driver copies these together.
 * @param piped - what has read the socket so far.
 * @returns false if this version of Node does not support it: nothing has been changed then.
 */
export function readMessages(
  socket: Socket,
  piped: NodeJS.WritableStream,
  { take, onBytes, fail }: MessageHandlers,
): boolean {
  const settings = settingsOf(socket);
  if (!settings) return false;
  const reader = new MessageReader(take);
  // First, because sockets that read into given memory stop reading at that.
  socket.unpipe(piped);
  settings.begin({
    kBuffer: reader.room(),
    kBufferCb: (count) => {
      onBytes();
      try {
        reader.read(count);
        return true;
      } catch (error) {
        fail(asError(error));
        return false;
      }
    },
    kBufferGen: () => reader.room(),
  });
  socket.resume();
  return true;
}

/** Assembles messages in place. */
export class MessageReader {
  readonly #take: (message: Buffer) => void;
  readonly #scratch = Buffer.allocUnsafeSlow(scratchBytes);
  /** A message whose beginning has arrived. */
  #message: Buffer | undefined;
  /** How many bytes of it have arrived, or of a header in the scratch memory. */
  #filled = 0;

  constructor(take: (message: Buffer) => void) {
    this.#take = take;
  }

  /** Where to put the next bytes; it may be filled in part. */
  room(): Buffer {
    return (this.#message ?? this.#scratch).subarray(this.#filled);
  }

  /**
   * Notes that this many bytes were put there.
   * @throws MalformedAnswer if they are not a message.
   */
  read(count: number): void {
    this.#filled += count;
    if (this.#message === undefined) this.#readScratch();
    else if (this.#filled === this.#message.length) {
      const message = this.#message;
      this.#message = undefined;
      this.#filled = 0;
      this.#take(message);
    }
  }

  #readScratch(): void {
    const end = this.#filled;
    let at = 0;
    while (end - at >= headerBytes) {
      const length = this.#scratch.readInt32LE(at);
      if (length < headerBytes || length > maxMessageBytes)
        throw new MalformedAnswer(`a message of ${length} bytes`);
      const message = Buffer.allocUnsafe(length);
      const here = Math.min(length, end - at);
      this.#scratch.copy(message, 0, at, at + here);
      at += here;
      if (here < length) {
        this.#message = message;
        this.#filled = here;
        return;
      }
      this.#take(message);
    }
    this.#scratch.copyWithin(0, at, end);
    this.#filled = end - at;
  }
}

/** The fields of a socket that was created with `onread`, under symbols with these names. */
interface ReadSettings {
  /** The memory that is read into now. */
  readonly kBuffer: Uint8Array;
  /** Called with the number of bytes that have arrived. Returns false to stop reading. */
  readonly kBufferCb: (count: number) => boolean;
  /** The memory to read into next. */
  readonly kBufferGen: () => Uint8Array;
}

interface Handle {
  readonly useUserBuffer?: (buffer: Uint8Array) => void;
}

/** Undefined if a socket has no such settings. */
function settingsOf(
  socket: Socket,
): { readonly begin: (settings: ReadSettings) => void } | undefined {
  const { _handle: handle } = socket as Socket & { readonly _handle?: Handle | null };
  const symbols = new Map(
    Object.getOwnPropertySymbols(socket).map((symbol) => [symbol.description, symbol]),
  );
  const buffer = symbols.get('kBuffer');
  const callback = symbols.get('kBufferCb');
  const next = symbols.get('kBufferGen');
  if (!handle?.useUserBuffer || !buffer || !callback || !next) return undefined;
  return {
    begin: ({ kBuffer, kBufferCb, kBufferGen }) => {
      Object.assign(socket, { [buffer]: kBuffer, [callback]: kBufferCb, [next]: kBufferGen });
      handle.useUserBuffer?.(kBuffer);
    },
  };
}

const inflated = promisify<Uint8Array, object, Buffer>(inflate);

const opCompressed = 2012;
const zlibId = 2;

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
