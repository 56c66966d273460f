// Internal to the driver: its version is exact, and tests show what this is for.
import type { Socket } from 'node:net';
import type {
  CommandOptions,
  ConnectionOptions,
  Message,
  WriteOptions,
} from 'mongodb/lib/cmap/connection.js';
import { MongoServerError, ObjectId } from 'mongodb';
import { asError } from '../service/errors.ts';
import { orAborted } from '../service/or-aborted.ts';
import { ZeroCopyConnection } from './zero-copy-connection.ts';
import type { ConnectionWatch, ServerConnection } from './server-connection.ts';
import { checkOf, type WriteRight } from './write-guard.ts';

const writes = new Set([
  'insert',
  'update',
  'delete',
  'create',
  'createIndexes',
  'collMod',
  'convertToCapped',
  'drop',
  'dropDatabase',
  'dropIndexes',
  'renameCollection',
  'setUserWriteBlockMode',
]);

/** A command that has not been answered. */
interface Unanswered {
  readonly done: AbortController;
  /** Bytes received in all when the server first said that it does not work on it. */
  missedAtBytes?: number;
}

/**
 * A connection of the driver (7.8) with four changes, besides the way of large values (ZeroCopyConnection).
 *
 * A command is not given up because its connection is silent for as long as the client allows, but because the server does
 * not work on it either: asked on another connection, twice, as the first time the command or its answer may be on its way.
 * So whatever takes long may take as long as it does, and what a network has lost is noticed soon. The login has the limit
 * of the client alone.
 *
 * A command that is being sent when its connection is closed fails, also where the socket is closed and the connection has
 * not been told yet. The driver would wait for the network to take the rest, for ever.
 *
 * A write is sent only where the client's guard lets it, when it is sent: the driver may have looked for a server,
 * and made a connection, for half a minute since it was asked for.
 *
 * Errors are read as objects where answers are wanted as bytes. Otherwise the driver stumbles over the topology version of
 * an error when a second one comes: a fault of the program in place of an election.
 */
class GuardedConnection extends ZeroCopyConnection {
  readonly #watch: ConnectionWatch;
  readonly #address: string;
  #unanswered: Unanswered | undefined;
  /** When it was used first after its login, by performance.now: the server knows it since before. */
  #usedAtMs: number | undefined;
  /** Throws where what is being sent may not be sent any more. */
  #assertMaySend: () => void = () => undefined;
  /** Fails what is being sent. */
  #failSending: ((error: Error) => void) | undefined;

  constructor(socket: Socket, options: ConnectionOptions, watch: ConnectionWatch) {
    super(socket, options);
    this.#watch = watch;
    this.#address = options.hostAddress.toString();
  }

  override async command(
    namespace: { readonly db: string },
    command: object,
    options: CommandOptions = {},
    responseType?: unknown,
  ): Promise<unknown> {
    const readable = options.raw === true ? { ...options, documentsReturnedIn: 'cursor' } : options;
    const [[name, target] = ['']] = Object.entries(command);
    const { right } = this.#watch.writeGuard;
    const isNeeded = writes.has(name) && right?.isNeededFor({ db: namespace.db, name, target });
    await this.#guard(isNeeded ? right : undefined, checkOf(command), options.signal);
    const unanswered = { done: new AbortController() };
    this.#unanswered = unanswered;
    try {
      return await super.command(namespace, command, readable, responseType);
    } catch (error) {
      const known = this.#asServerKnowsIt;
      if (known && writes.has(name) && !(error instanceof MongoServerError))
        this.#watch.lostWrite(known);
      throw error;
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
      await Promise.race([this.#writeChecked(message, options), closed.promise]);
    } finally {
      this.#failSending = undefined;
    }
  }

  async #writeChecked(message: Message, options: WriteOptions): Promise<void> {
    this.assertMaySend();
    await super.writeCommand(message, options);
  }

  protected override assertMaySend(): void {
    try {
      this.#assertMaySend();
    } catch (error) {
      // Whatever was sent is half a message: the server drops it when it sees the end of the connection.
      this.cleanup(asError(error));
      throw error;
    }
  }

  /**
   * Waits until a command may be sent, and has it asked for once more whenever something of it is sent.
   * @param right - that it needs.
   * @param check - the command's own.
   */
  async #guard(
    right: WriteRight | undefined,
    check: (() => void) | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const nowMs = performance.now();
    if (this.established) this.#usedAtMs ??= nowMs;
    const connectedAtMs = this.#usedAtMs ?? nowMs;
    const confirmed = right?.confirm(connectedAtMs);
    await (confirmed && signal ? orAborted(confirmed, signal) : confirmed);
    const assertMaySend = (): void => {
      check?.();
      right?.require(connectedAtMs);
    };
    assertMaySend();
    this.#assertMaySend = assertMaySend;
  }

  /** Called when nothing has been sent or received for as long as the client allows. */
  protected override onTimeout(): void {
    const known = this.#asServerKnowsIt;
    if (this.#unanswered && this.established && known)
      void this.#waitOnOrGiveUp(this.#unanswered, known);
    else super.onTimeout();
  }

  /** Undefined before the server's first answer. */
  get #asServerKnowsIt(): ServerConnection | undefined {
    const { serverConnectionId, hello } = this.description;
    if (serverConnectionId === null) return undefined;
    const version: unknown = hello?.['topologyVersion'];
    const processId =
      typeof version === 'object' && version !== null && 'processId' in version
        ? version.processId
        : undefined;
    return {
      address: this.#address,
      processId: processId instanceof ObjectId ? processId : undefined,
      connectionId: Number(serverConnectionId),
    };
  }

  /** Never rejects. */
  async #waitOnOrGiveUp(unanswered: Unanswered, known: ServerConnection): Promise<void> {
    const { signal } = unanswered.done;
    // A server that cannot be asked says nothing about the command.
    const isWorkedOn = await this.#watch.isWorkedOn(known, signal).catch(() => true);
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

/** The class of a client's connections, which ask and tell this watch of commands that are not answered. */
export function guardedConnection(watch: ConnectionWatch): typeof ZeroCopyConnection {
  return class extends GuardedConnection {
    constructor(socket: Socket, options: ConnectionOptions) {
      super(socket, options, watch);
    }
  };
}
