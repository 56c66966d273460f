import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { optionsDigestHeader } from '../../../sync-api/headers.ts';

/** What an operand was asked. */
export interface ReceivedCommand {
  readonly name: string;
  readonly token: string | undefined;
  readonly body: unknown;
  /** Which sync it is for. */
  readonly digest: string | undefined;
}

/** A tool with the HTTP API of the contract, and nothing behind it: it returns the answers that a test sets. */
export class StandIn implements AsyncDisposable {
  readonly commands: ReceivedCommand[] = [];
  /** What it was asked to check. It cannot, unless there is an answer. */
  readonly checks: unknown[] = [];
  /** Whether it never answers them. */
  isSilent = false;
  /** How many have hung up without an answer. */
  hungUp = 0;
  /** How often it was asked for its progress. */
  polls = 0;
  /** Body of the answers to progress calls. */
  progress: object;
  /** The digest in the header of those answers: of the sync that they are about. */
  digest: string | undefined;
  /** Called before each of them. */
  onPoll: () => void = () => undefined;
  /** Bodies of the answers to other questions, by their names; there is no answer to those that are not here. */
  readonly answers = new Map<string, object>([['topology', topologyOf('rs0')]]);
  /** Bodies of the answers to commands that are not simply taken. */
  readonly refusals = new Map<string, object>();
  /** Called when a command is taken. */
  onCommand: (name: string, body: object) => void = () => undefined;
  readonly #server: Server;

  private constructor(progress: object) {
    this.progress = progress;
    this.#server = createServer((request, response) => {
      void this.#answer(request, response);
    });
  }

  /** Listens on an address of the loopback network, so that several can have the same port. */
  static async start(address: string, port: number, progress: object): Promise<StandIn> {
    const standIn = new StandIn(progress);
    standIn.#server.listen(port, address);
    await once(standIn.#server, 'listening');
    return standIn;
  }

  /** The names of the commands that came, in order. */
  get commandNames(): string[] {
    return this.commands.map(({ name }) => name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const name = request.url?.replace('/api/v1/', '') ?? '';
    const body = await text(request);
    response.setHeader('Content-Type', 'application/json');
    if (name === 'progress') {
      this.polls += 1;
      this.onPoll();
      if (this.digest !== undefined) response.setHeader(optionsDigestHeader, this.digest);
      response.end(JSON.stringify(this.progress));
      return;
    }
    // A verifier has a command of that name.
    const isStartCheck = name === 'check' && 'source' in (JSON.parse(body) as object);
    if (isStartCheck) this.checks.push(JSON.parse(body));
    if (isStartCheck && this.isSilent) {
      response.on('close', () => {
        this.hungUp += 1;
      });
      return;
    }
    if (request.method === 'GET' || isStartCheck) {
      const known = this.answers.get(name.replace(/\?.*/, ''));
      response.statusCode = known ? 200 : 404;
      response.end(JSON.stringify(known ?? { success: false, error: 'NotFound' }));
      return;
    }
    const token = request.headers.authorization?.replace('Bearer ', '');
    const digest = request.headers[optionsDigestHeader.toLowerCase()]?.toString();
    const parsed = JSON.parse(body) as object;
    this.commands.push({ name, token, body: parsed, digest });
    const refusal = this.refusals.get(name);
    if (!refusal) this.onCommand(name, parsed);
    response.end(JSON.stringify(refusal ?? { success: true }));
  }
}

/** What a syncer reports about its source: a replica set, or a cluster of several shards. */
export function topologyOf(...shards: readonly string[]): object {
  return { topology: { kind: shards.length === 1 ? 'replicaSet' : 'sharded', shards } };
}

/** Progress of a syncer that was not started. */
export const idle = { state: 'IDLE', canCommit: false, info: null, collectionCopy: null };

/** Progress during the initial copy. */
export const copying = {
  state: 'RUNNING',
  canCommit: false,
  canWrite: false,
  info: 'collection copy',
  lagTimeSeconds: 0,
  collectionCopy: { estimatedTotalBytes: 1000, estimatedCopiedBytes: 250 },
  coordinatorID: null,
};

/** Progress while changes are applied. */
export const applying = {
  ...copying,
  canCommit: true,
  info: 'change event application',
  syncerID: 'old',
  coordinatorID: 'old',
};

/** Progress after the commit. */
export const committed = {
  ...applying,
  state: 'COMMITTED',
  canCommit: false,
  canWrite: true,
  info: 'commit completed',
};
