// The driver's own class for connections; it is internal, so the driver's version is pinned and
// zero-copy-connection.test.ts guards the shape.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';
import { OpCompressedRequest } from 'mongodb/lib/cmap/commands.js';
import {
  Connection,
  type CommandOptions,
  type ConnectionOptions,
  type Message,
  type WriteOptions,
} from 'mongodb/lib/cmap/connection.js';
import { asError } from '../service/errors.ts';
import { isCompressor, type Compressor } from './compressors.ts';
import { checkAnswer, documentOf, checkLogin } from './answer-check.ts';
import {
  checkForm,
  sentCommand,
  serverKind,
  type SentCommand,
  type ServerKind,
} from './answer-form.ts';
import { MalformedAnswer, notBson } from './malformed-answer.ts';
import { readMessages } from './message-reader.ts';
import { withOwnLimit } from './own-limit.ts';
import { isPacked, packed, unpacked } from './packed-messages.ts';
import type { RawDocument } from './raw-bson.ts';
import { RawValue } from './raw-value.ts';

/** From this size on, it pays to send a value without copying it. */
const largeBytes = 64 * 1024;

/** A command has one answer, and no other is sent before it has arrived. */
const maxUnreadAnswers = 8;

/**
 * A connection that copies less, and keeps no answer. It sends a large raw value of a command from its original memory; the
 * driver copies it four times: into the serialized command, out of that, and into the message. It reads answers into the memory
 * that keeps them.
 *
 * It limits what a server sends, which the driver (7.8) does not: the length of a message, even when it is unpacked; the number
 * of messages that nobody has requested; and the work of a login. Anything that is not an answer, or not BSON, closes the
 * connection (MalformedAnswer) before it is used. So does an answer that lacks what its command requires (answer-form.ts): the
 * outcome of a write is then unknown.
 *
 * No read that it sends is limited by what is the default of its cluster ({@link withOwnLimit}).
 */
export class ZeroCopyConnection extends Connection {
  #isUnpacking = false;
  readonly #server: string;
  /** The field of the next answer whose value stays bytes. */
  #unread: string | undefined;
  /** The last command sent, which the next answer is for; for a hello, all following answers. */
  #sent: SentCommand | undefined;
  #kind: ServerKind | undefined;

  constructor(socket: Socket, options: ConnectionOptions) {
    super(socket, options);
    this.#server = options.hostAddress.toString();
    readMessages(socket, this.messageStream, {
      take: (message) => {
        if (isPacked(message)) void this.#takePacked(message);
        else this.#take(message);
      },
      onBytes: () => {
        if (this.delayedTimeoutId !== null) clearTimeout(this.delayedTimeoutId);
        this.delayedTimeoutId = null;
      },
      fail: (error) => {
        this.#fail(error);
      },
    });
  }

  override async command(
    namespace: { readonly db: string },
    command: Document,
    options?: CommandOptions,
    responseType?: unknown,
  ): Promise<unknown> {
    this.#unread = options?.raw === true ? options.documentsReturnedIn : undefined;
    const bytesBefore = this.socket.bytesRead;
    try {
      const answer = await super.command(namespace, withOwnLimit(command), options, responseType);
      checkLogin(command, answer as Document);
      return answer;
    } catch (error) {
      // Until something has arrived, the invalid BSON is in what was to be sent.
      const isAnswer = this.socket.bytesRead > bytesBefore;
      if (!isAnswer || !BSON.BSONError.isBSONError(error)) throw error;
      throw notBson(error).of(this.#server);
    } finally {
      this.#unread = undefined;
      this.#forgetAnswer();
    }
  }

  /**
   * The signature of the cluster time shares the memory of the answer that it came with, and this connection, the session and
   * the client keep it.
   */
  #forgetAnswer(): void {
    const hash = this.clusterTime?.signature?.hash;
    if (hash && hash.buffer.length < hash.buffer.buffer.byteLength)
      hash.buffer = Uint8Array.from(hash.buffer);
  }

  #take(message: Buffer): void {
    const { messageStream } = this;
    if (messageStream.readableLength >= maxUnreadAnswers)
      throw new MalformedAnswer('unsolicited answers');
    checkAnswer(message, this.#unread);
    if (this.#sent !== undefined) this.#checkForm(this.#sent, documentOf(message));
    messageStream.push(message);
  }

  #checkForm(sent: SentCommand, answer: RawDocument): void {
    checkForm(sent, answer);
    const kind = serverKind(sent, answer);
    if (kind === undefined) return;
    if (this.#kind !== undefined && kind !== this.#kind)
      throw new MalformedAnswer(
        `an answer to ${sent.name} as a ${kind}, and one as a ${this.#kind}`,
      );
    this.#kind = kind;
  }

  #fail(error: unknown): void {
    this.cleanup(error instanceof MalformedAnswer ? error.of(this.#server) : asError(error));
  }

  /** Never rejects. */
  async #takePacked(message: Buffer): Promise<void> {
    try {
      if (this.#isUnpacking) throw new MalformedAnswer('two answers at the same time');
      this.#isUnpacking = true;
      this.#take(await unpacked(message));
      this.#isUnpacking = false;
    } catch (error) {
      this.#fail(error);
    }
  }

  protected override async writeCommand(message: Message, options: WriteOptions): Promise<void> {
    this.#sent = sentCommand(message.command ?? message.query ?? {});
    await this.#write(message, options);
  }

  async #write(message: Message, options: WriteOptions): Promise<void> {
    const compressor = compressorFor(message, options);
    const large = largeValueOf(message);
    if (compressor === undefined && options.timeoutContext?.csotEnabled()) {
      await super.writeCommand(message, notCompressed(options));
      return;
    }
    const parts = large ? await withValue(large, message) : await message.toBin();
    if (compressor === undefined) {
      await this.#send(parts, options);
      return;
    }
    const bytes = await packed(Buffer.concat(parts), compressor, options.zlibCompressionLevel);
    this.assertMaySend();
    await this.#send([bytes], options);
  }

  /**
   * Sends a message. The end of a large one is held back until the network has taken the rest: that takes time, and the network takes
   * everything that it is given, even from a process that was frozen meanwhile.
   */
  async #send(given: readonly Uint8Array[], options: WriteOptions): Promise<void> {
    // The driver's messages without a sequence of documents end with an empty part.
    const parts = given.filter((part) => part.length > 0);
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const last = parts.at(-1);
    if (last === undefined || length < largeBytes) {
      await super.writeCommand({ toBin: () => [...parts] }, notCompressed(options));
      return;
    }
    try {
      this.socket.cork();
      for (const part of parts.slice(0, -1)) this.socket.write(part);
      this.socket.write(last.subarray(0, -1));
      this.socket.uncork();
      if (this.socket.writableNeedDrain)
        await once(this.socket, 'drain', options.signal && { signal: options.signal });
      options.signal?.throwIfAborted();
      this.assertMaySend();
      // Waits until the network has taken everything.
      await super.writeCommand({ toBin: () => [last.subarray(-1)] }, notCompressed(options));
    } catch (error) {
      const cause =
        options.signal?.aborted === true ? asError(options.signal.reason) : asError(error);
      // Another command on this connection would complete the message.
      this.cleanup(cause);
      throw cause;
    }
  }

  /** Called before the end of a large command is sent, without which a server does nothing with it: may throw. */
  protected assertMaySend(): void {
    // Whatever was started is sent.
  }
}

/** Undefined if a message is sent as it is: some commands never are compressed, such as logins. */
function compressorFor(
  message: Message,
  { agreedCompressor = 'none' }: WriteOptions,
): Compressor | undefined {
  return isCompressor(agreedCompressor) && OpCompressedRequest.canCompress(message)
    ? agreedCompressor
    : undefined;
}

function notCompressed(options: WriteOptions): WriteOptions {
  return { ...options, agreedCompressor: 'none' };
}

function largeValueOf({ command }: Message): RawValue | undefined {
  return Object.values(command ?? {}).find(
    (value): value is RawValue => value instanceof RawValue && value.bytes.length >= largeBytes,
  );
}

/** Message header, flags and the kind of the first section, which is the command. */
const commandOffset = 16 + 4 + 1;

/** The bytes of a message that contains the value as the command's last field, in parts. */
async function withValue({ name, type, bytes }: RawValue, message: Message): Promise<Uint8Array[]> {
  const { [name]: _value, ...others } = message.command ?? {};
  message.command = others;
  const rest = Buffer.concat(await message.toBin());
  const commandEnd = commandOffset + rest.readInt32LE(commandOffset) - 1;
  const field = Buffer.from(`_${name}\0`);
  field[0] = type;
  const head = Buffer.concat([rest.subarray(0, commandEnd), field]);
  const added = field.length + bytes.length;
  for (const lengthOffset of [0, commandOffset])
    head.writeInt32LE(rest.readInt32LE(lengthOffset) + added, lengthOffset);
  return [head, bytes, rest.subarray(commandEnd)];
}
