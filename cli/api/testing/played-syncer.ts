import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Instances } from '../instances.ts';

/** The progress of a played syncer; with `error`, an answer without progress. */
export type Word = Readonly<Record<string, unknown>>;

export const running: Word = { state: 'RUNNING', canCommit: true, commitUnderWay: false };
export const underWay: Word = { state: 'RUNNING', canCommit: false, commitUnderWay: true };
export const unknown: Word = { state: 'RUNNING', canCommit: false, commitUnderWay: null };
export const committing: Word = { state: 'COMMITTING', commitUnderWay: true };
export const committed: Word = { state: 'COMMITTED', commitUnderWay: false };

export const taken = { success: true };
export const refused = {
  ...{ success: false, error: 'CannotCommitYet' },
  errorDescription: 'not now',
};

/** How a played syncer answers a command: with a body, by closing the connection, or not at all. */
type Answer = object | 'closes' | 'is silent';

/** A syncer that is RUNNING until a command comes, and whose answers to it are given. */
export class PlayedSyncer implements AsyncDisposable {
  readonly #server: Server;
  readonly #words: Word[];
  readonly #answers: Answer[];
  /** The paths of the commands that have come. */
  readonly commands: string[] = [];
  /** Whether it answers nothing more. */
  isSilent = false;
  /** Whether its words begin, as after a command. */
  hasBegun = false;
  /** The states that it has told. */
  readonly told: unknown[] = [];
  /** How many requests have come while it was silent. */
  refusedConnections = 0;
  onCommand: () => void = () => undefined;

  /**
   * @param words - what progress answers once a command has come: one after the other; the last one stays.
   * @param answers - to the commands; `closes` if there is none left.
   */
  constructor(words: readonly Word[], answers: readonly Answer[] = []) {
    this.#words = [...words];
    this.#answers = [...answers];
    this.#server = createServer((request, response) => {
      if (this.isSilent) {
        this.refusedConnections++;
        request.socket.destroy();
      } else if (request.method === 'GET') this.#tell(response);
      else this.#answer(request.url ?? '', response);
    });
  }

  get commits(): number {
    return this.commands.filter((path) => path.endsWith('/commit')).length;
  }

  async address(): Promise<() => { url: string; apiToken: undefined }> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = this.#server.address() as AddressInfo;
    return () => ({ url: `http://127.0.0.1:${port}`, apiToken: undefined });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #tell(response: ServerResponse): void {
    const [word = running] = this.hasBegun ? this.#words : [running];
    if (this.hasBegun && this.#words.length > 1) this.#words.shift();
    this.told.push(word['state']);
    const body = 'error' in word ? { success: false, ...word } : { progress: word };
    response.end(JSON.stringify(body));
  }

  #answer(path: string, response: ServerResponse): void {
    this.commands.push(path);
    this.hasBegun = true;
    const answer = this.#answers.shift() ?? 'closes';
    if (typeof answer === 'object') response.end(JSON.stringify(answer));
    else if (answer === 'closes') response.socket?.destroy();
    this.onCommand();
  }
}

/** The client of played syncers. */
export async function instancesOf(all: readonly PlayedSyncer[]): Promise<Instances> {
  return new Instances(await Promise.all(all.map(async (one) => await one.address())));
}
