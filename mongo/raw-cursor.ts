import {
  type ClientSession,
  type Document,
  type MongoClient,
  type ReadPreferenceMode,
} from 'mongodb';
import type { SyncError } from '../service/errors.ts';
import { runOnPrimary, runOnRouter, runOnServer, type Answer } from './command-on-router.ts';
import { noMemberError } from './no-member-error.ts';
import { connectionError } from './server-errors.ts';
import { DocumentList } from './document-list.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { bsonType, elementsOf, valueBytes, type RawArray, type RawDocument } from './raw-bson.ts';

const emptyArray: RawArray = Uint8Array.of(5, 0, 0, 0, 0);

/** The result of one round trip of a cursor. */
export class RawBatch {
  /** The documents as a BSON array, as received. */
  readonly array: RawArray;
  /** Memory that the documents hold together. */
  readonly bytes: number;
  /** Where the read can be resumed, for change streams and for scans that request it. */
  readonly postBatchResumeToken: RawDocument | undefined;
  #list: DocumentList | undefined;

  constructor(array: RawArray, bytes: number, postBatchResumeToken: RawDocument | undefined) {
    this.array = array;
    this.bytes = bytes;
    this.postBatchResumeToken = postBatchResumeToken;
  }

  /** The documents one by one, shared with the array. */
  get documents(): readonly RawDocument[] {
    return this.list.documents;
  }

  get list(): DocumentList {
    this.#list ??= DocumentList.ofArray(this.array);
    return this.#list;
  }

  get isEmpty(): boolean {
    return this.array.length <= emptyArray.length;
  }
}

/** How long the server may take to end its work for a cursor that is no longer needed. */
const endMs = 2_000;

/** How a cursor fetches. */
export interface RawCursorOptions {
  readonly signal: AbortSignal;
  /** Documents for each round trip; the server ends a batch at 16 MiB anyway. */
  readonly batchSize?: number;
  /** Which members of a replica set may be read; by default the primary. */
  readonly readPreference?: ReadPreferenceMode;
  /** For change streams: how long the server waits for something new. */
  readonly maxAwaitMs?: number;
}

/**
 * A server cursor that returns documents as bytes, batch by batch, and the resume token of each batch. It holds one batch at a
 * time: `next` fetches the next one.
 */
export class RawCursor implements AsyncDisposable {
  readonly #client: MongoClient;
  readonly #database: string;
  readonly #options: RawCursorOptions;
  readonly #session: ClientSession;
  /** The server that has opened the cursor, if another one could be chosen for the next command. */
  #router: Answer['router'];
  #address: string | undefined;
  #collection = '';
  #id = 0n;
  #first: RawBatch | undefined;
  /** `<host>:<port>` of a server that may still wait for the cluster time after which to read. */
  #waitingOn: string | undefined;

  private constructor(client: MongoClient, database: string, options: RawCursorOptions) {
    this.#client = client;
    this.#database = database;
    this.#options = options;
    this.#session = client.startSession();
  }

  /**
   * Runs a command that opens a cursor (find, aggregate, listCollections, ...).
   * @param client - a client with `raw: true`.
   */
  static async open(
    client: MongoClient,
    database: string,
    command: Document,
    options: RawCursorOptions,
  ): Promise<RawCursor> {
    const cursor = new RawCursor(client, database, options);
    try {
      cursor.#first = await cursor.#run(command);
      return cursor;
    } catch (error) {
      await cursor[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** `<host>:<port>` of the server that it is on. */
  get address(): string {
    return this.#address ?? hostsOf(this.#client);
  }

  /**
   * The next batch, which may be empty for a change stream; undefined at the end of the cursor.
   * @param batchSize - documents of this batch, if it should have fewer than others.
   */
  async next(batchSize = this.#options.batchSize): Promise<RawBatch | undefined> {
    const first = this.#first;
    if (first !== undefined) {
      this.#first = undefined;
      return first;
    }
    if (this.#id === 0n) return undefined;
    const { maxAwaitMs } = this.#options;
    return await this.#run({
      getMore: this.#id,
      collection: this.#collection,
      ...(batchSize === undefined ? {} : { batchSize }),
      ...(maxAwaitMs === undefined ? {} : { maxTimeMS: maxAwaitMs }),
    });
  }

  /**
   * Every batch that is not empty, up to the cursor's end.
   * @param batchSize - documents of each batch after the first, if that changes along the way.
   */
  async *batches(
    batchSize = (): number | undefined => this.#options.batchSize,
  ): AsyncGenerator<RawBatch, void, undefined> {
    for (let batch = await this.next(); batch !== undefined; batch = await this.next(batchSize())) {
      if (!batch.isEmpty) yield batch;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const id = this.#id;
    this.#id = 0n;
    if (this.#waitingOn !== undefined) {
      await this.#endWaiting(this.#waitingOn);
    } else if (id !== 0n) {
      // The server eventually drops the cursor anyway: a failure here does not matter.
      const kill = { killCursors: this.#collection, cursors: [id] };
      await this.#send(kill, AbortSignal.timeout(endMs)).catch(() => undefined);
    }
    await this.#session.endSession();
  }

  /**
   * Ends a read that was abandoned while it waited for a cluster time: a server (6.0.5) that reads notices that its client has
   * gone, one that waits does not, and each new attempt would add one more.
   */
  async #endWaiting(address: string): Promise<void> {
    const { serverSession } = this.#session;
    // Keeps the driver from using its id again: the command may arrive late.
    serverSession.isDirty = true;
    const kill = { killSessions: [serverSession.id] };
    const deadline = (): AbortSignal => AbortSignal.timeout(endMs);
    // Any other router ends it on the shards, too.
    await runOnServer(this.#client, address, kill, deadline())
      .catch(async () => await runOnPrimary(this.#client.db('admin'), kill, deadline()))
      .catch(() => undefined);
  }

  async #run(command: Document): Promise<RawBatch> {
    const { signal } = this.#options;
    const { readConcern } = command as { readonly readConcern?: { afterClusterTime?: unknown } };
    try {
      const answer = await this.#send(command, signal, (address) => {
        if (readConcern?.afterClusterTime !== undefined) this.#waitingOn = address;
      });
      return this.#take(answer['cursor']);
    } catch (thrown) {
      const error = thrown instanceof MalformedAnswer ? thrown.of(this.address) : thrown;
      signal.throwIfAborted();
      throw this.#named(error) ?? error;
    }
  }

  #named(error: unknown): SyncError | undefined {
    const named = connectionError(error);
    if (named?.name !== 'ClusterUnreachable') return named;
    return noMemberError(error, this.#options.readPreference ?? 'primary') ?? named;
  }

  async #send(
    command: Document,
    signal: AbortSignal,
    onUnanswered?: (address: string) => void,
  ): Promise<Document> {
    const { readPreference } = this.#options;
    const options = {
      session: this.#session,
      signal,
      router: this.#router,
      ...(readPreference && { readPreference }),
      ...(onUnanswered && { onUnanswered }),
    };
    const { answer, router, address } = await runOnRouter(
      this.#client,
      this.#database,
      command,
      options,
    );
    this.#router = router;
    this.#address = address;
    return answer;
  }

  #take(cursor: unknown): RawBatch {
    if (!(cursor instanceof Uint8Array)) throw new MalformedAnswer('an answer without a cursor');
    let id = 0n;
    let array = emptyArray;
    let postBatchResumeToken: RawDocument | undefined;
    for (const element of elementsOf(cursor)) {
      switch (element.name) {
        case 'id':
          if (element.type !== bsonType.int64) throw new MalformedAnswer('a cursor without an id');
          id = Buffer.from(cursor.buffer, cursor.byteOffset).readBigInt64LE(element.offset);
          break;
        case 'ns':
          this.#collection = collectionOf(element.bytes, element.offset, element.length);
          break;
        case 'firstBatch':
        case 'nextBatch':
          array = valueBytes(element);
          break;
        case 'postBatchResumeToken':
          postBatchResumeToken = cursor.subarray(element.offset, element.offset + element.length);
          break;
        default:
      }
    }
    if (this.#id !== 0n && id !== 0n && id !== this.#id)
      throw new MalformedAnswer('the batch of another cursor than the one that was asked for');
    this.#id = id;
    const batch = new RawBatch(array, cursor.length, postBatchResumeToken);
    // A document that does not end where it should is reported here, where the server is known.
    batch.list.requireWhole();
    return batch;
  }
}

/** Where a client finds its servers. */
export function hostsOf({ options: { hosts, srvHost } }: MongoClient): string {
  return srvHost ?? hosts.join();
}

/** The collection's part of a namespace in a string value. */
function collectionOf(bytes: Uint8Array, offset: number, length: number): string {
  const namespace = Buffer.from(bytes.buffer, bytes.byteOffset).toString(
    'utf8',
    offset + 4,
    offset + length - 1,
  );
  return namespace.slice(namespace.indexOf('.') + 1);
}
