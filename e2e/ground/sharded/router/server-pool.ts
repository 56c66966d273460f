import { connect, type Socket } from 'node:net';
import type { Document } from 'mongodb';
import type { RawDocument } from '../../../../mongo/raw-bson.ts';
import { messageOf } from '../../../../service/errors.ts';
import { failure, succeeded } from './command-failure.ts';
import { logInAsSystem } from './scram.ts';
import {
  answerBody,
  commandMessage,
  decode,
  encode,
  MessageFramer,
  type DocumentSequence,
} from './wire.ts';

/** One connection to a server: one command at a time. */
export class ServerConnection {
  readonly #socket: Socket;
  readonly #address: string;
  #waiting: PromiseWithResolvers<RawDocument> | undefined;
  #end: Error | undefined;
  #requestId = 0;

  constructor(address: string) {
    this.#address = address;
    const [host = '', port = ''] = address.split(':');
    const framer = new MessageFramer();
    this.#socket = connect(Number(port), host)
      .setNoDelay(true)
      .on('data', (chunk) => {
        for (const message of framer.push(chunk)) this.#settle()?.resolve(answerBody(message));
      })
      .on('error', (error) => {
        this.#fail(messageOf(error));
      })
      .on('close', () => {
        this.#fail('the connection was closed');
      });
  }

  get isUsable(): boolean {
    return this.#end === undefined;
  }

  /** Sends a command and gives the answer, whatever it says. @throws CommandFailure HostUnreachable */
  async send(body: RawDocument, sequences: readonly DocumentSequence[] = []): Promise<RawDocument> {
    if (this.#end) throw this.#end;
    if (this.#waiting) throw new Error('the connection is in use');
    this.#waiting = Promise.withResolvers();
    this.#requestId = (this.#requestId + 1) & 0x7fffffff;
    this.#socket.write(commandMessage(this.#requestId, body, sequences));
    return await this.#waiting.promise;
  }

  /** Also ends the command that is under way on the server. */
  close(): void {
    this.#fail('the client is gone');
    this.#socket.destroy();
  }

  #settle(): PromiseWithResolvers<RawDocument> | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }

  #fail(reason: string): void {
    this.#end ??= failure('HostUnreachable', `router: ${this.#address}: ${reason}`);
    this.#settle()?.reject(this.#end);
  }
}

/** Connections to one server, logged in as a member of the cluster. As many as there are commands under way. */
export class ServerPool {
  readonly address: string;
  readonly #key: string;
  readonly #idle: ServerConnection[] = [];

  constructor(address: string, key: string) {
    this.address = address;
    this.#key = key;
  }

  /**
   * Sends a command and gives the answer. When the signal is aborted the server is told so, by the end of the
   * connection.
   * @throws CommandFailure HostUnreachable
   */
  async send(
    body: RawDocument,
    signal: AbortSignal,
    sequences: readonly DocumentSequence[] = [],
  ): Promise<RawDocument> {
    signal.throwIfAborted();
    const connection = await this.#take();
    const onAbort = (): void => {
      connection.close();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await connection.send(body, sequences);
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (connection.isUsable) this.#idle.push(connection);
    }
  }

  async #take(): Promise<ServerConnection> {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (idle.isUsable) return idle;
    }
    const connection = new ServerConnection(this.address);
    try {
      await logInAsSystem(
        async (command) => succeeded(decode(await connection.send(encode(command)))),
        this.#key,
      );
    } catch (error) {
      connection.close();
      throw error;
    }
    return connection;
  }
}

/** Runs a command on a connection and gives the decoded answer, whatever it says. */
export async function commandOn(
  connection: ServerConnection,
  command: Document,
): Promise<Document> {
  return decode(await connection.send(encode(command)));
}
