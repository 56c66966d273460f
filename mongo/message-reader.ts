// Node's sockets read into the caller's memory if they are created with `onread`; the driver creates them without it. What that
// option sets is internal to Node: message-reader.test.ts guards it.
import type { Socket } from 'node:net';
import { asError } from '../service/errors.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { headerBytes, maxMessageBytes } from './packed-messages.ts';

/** The size of the buffer for reads while nothing larger is expected. */
const scratchBytes = 16 * 1024;

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
