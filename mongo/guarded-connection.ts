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
  'findAndModify',
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
  /** Ends the question whether the server is working on it; undefined while none was asked. */
  asking?: AbortController;
  /** Bytes received in all when the server first said that it is not working on it. */
  missedAtBytes?: number;
}

/**
 * A connection of the driver (7.8) with four changes, in addition to the handling of large values (ZeroCopyConnection).
 *
 * A command is not abandoned because its connection is silent for as long as the client allows, but only if the server is not
 * working on it either. The server is queried on another connection, twice, as the first time the command or its answer may still
 * be on its way. So a command may take as long as it needs, and one that a network has lost is noticed soon. The login has only
 * the client's limit.
 *
 * A command that is being sent when its connection is closed fails, even if the socket is closed and the connection has not
 * been notified yet. The driver would wait for the network to take the rest, for ever.
 *
 * A write is sent only if the client's guard allows it at that moment: since it was requested, the driver may have spent half a
 * minute looking for a server and making a connection.
 *
 * Errors are read as objects when answers are requested as bytes. Otherwise the driver stumbles over the topology version of an
 * error when a second one arrives: a program fault instead of an election.
 */
class GuardedConnection extends ZeroCopyConnection {
  readonly #watch: ConnectionWatch;
  readonly #address: string;
  #unanswered: Unanswered | undefined;
  /** When it was first used after its login, by performance.now: the server has known it since before. */
  #usedAtMs: number | undefined;
  /** Throws if what is being sent may no longer be sent. */
  #assertMaySend: () => void = () => undefined;
  /** Fails the command that is being sent. */
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
    const unanswered: Unanswered = {};
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
      unanswered.asking?.abort();
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
   * Waits until a command may be sent, and checks again whenever a part of it is sent.
   * @param right - the right that it needs.
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

  /** Called if nothing has been sent or received for as long as the client allows. */
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
    // Most commands need none, and each abort of a controller builds an exception.
    unanswered.asking ??= new AbortController();
    const { signal } = unanswered.asking;
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

/** The class of a client's connections, which report to this watch and ask it about unanswered commands. */
export function guardedConnection(watch: ConnectionWatch): typeof ZeroCopyConnection {
  return class extends GuardedConnection {
    constructor(socket: Socket, options: ConnectionOptions) {
      super(socket, options, watch);
    }
  };
}
