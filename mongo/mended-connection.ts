// Internal to the driver: its version is exact, and tests show what this is for.
import type { Socket } from 'node:net';
import type { CommandOptions, Message, WriteOptions } from 'mongodb/lib/cmap/connection.js';
import { LeanConnection } from './lean-connection.ts';

/**
 * Whether the server works on something that came on a connection.
 * @param connectionId - the server's number of the connection.
 */
export type AskWhetherWorkedOn = (connectionId: number, signal: AbortSignal) => Promise<boolean>;

/** A command that has not been answered. */
interface Unanswered {
  readonly done: AbortController;
  /** Bytes received in all when the server first said that it does not work on it. */
  missedAtBytes?: number;
}

/**
 * A connection of the driver (7.8) with three changes, besides the way of large values (LeanConnection).
 *
 * A command is not given up because its connection is silent for as long as the client allows, but because the server does
 * not work on it either: asked on another connection, twice, as the first time the command or its answer may be on its way.
 * So whatever takes long may take as long as it does, and what a network has lost is noticed soon. The login has the limit
 * of the client alone.
 *
 * A command that is being sent when its connection is closed fails, also where the socket is closed and the connection has
 * not been told yet. The driver would wait for the network to take the rest, for ever.
 *
 * Errors are read as objects where answers are wanted as bytes. Otherwise the driver stumbles over the topology version of
 * an error when a second one comes: a fault of the program in place of an election.
 */
class MendedConnection extends LeanConnection {
  readonly #ask: AskWhetherWorkedOn;
  #unanswered: Unanswered | undefined;
  /** Fails what is being sent. */
  #failSending: ((error: Error) => void) | undefined;

  constructor(socket: Socket, options: object, ask: AskWhetherWorkedOn) {
    super(socket, options);
    this.#ask = ask;
  }

  override async command(
    namespace: unknown,
    command: object,
    options: CommandOptions = {},
    responseType?: unknown,
  ): Promise<unknown> {
    const mended = options.raw === true ? { ...options, documentsReturnedIn: 'cursor' } : options;
    const unanswered = { done: new AbortController() };
    this.#unanswered = unanswered;
    try {
      return await super.command(namespace, command, mended, responseType);
    } finally {
      this.#unanswered = undefined;
      unanswered.done.abort();
    }
  }

  override cleanup(error: Error): void {
    super.cleanup(error);
    this.#failSending?.(error);
  }

  protected override async writeCommand(message: Message, options: WriteOptions): Promise<void> {
    const closed = Promise.withResolvers<never>();
    this.#failSending = closed.reject;
    try {
      await Promise.race([super.writeCommand(message, options), closed.promise]);
    } finally {
      this.#failSending = undefined;
    }
  }

  /** Called when nothing has been sent or received for as long as the client allows. */
  protected override onTimeout(): void {
    const { serverConnectionId } = this.description;
    if (this.#unanswered && this.established && serverConnectionId !== null)
      void this.#waitOnOrGiveUp(this.#unanswered, Number(serverConnectionId));
    else super.onTimeout();
  }

  /** Never rejects. */
  async #waitOnOrGiveUp(unanswered: Unanswered, connectionId: number): Promise<void> {
    const { signal } = unanswered.done;
    // A server that cannot be asked says nothing about the command.
    const isWorkedOn = await this.#ask(connectionId, signal).catch(() => true);
    if (signal.aborted) return;
    const { bytesRead } = this.socket;
    if (!isWorkedOn && unanswered.missedAtBytes === bytesRead) {
      super.onTimeout();
      return;
    }
    if (isWorkedOn) delete unanswered.missedAtBytes;
    else unanswered.missedAtBytes = bytesRead;
    this.socket.setTimeout(this.socketTimeoutMS);
  }
}

/** The class of a client's connections, which ask so about the commands that are not answered. */
export function mendedConnection(ask: AskWhetherWorkedOn): typeof LeanConnection {
  return class extends MendedConnection {
    constructor(socket: Socket, options: object) {
      super(socket, options, ask);
    }
  };
}
