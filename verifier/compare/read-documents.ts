import type { Document, ReadPreferenceMode } from 'mongodb';
import { idRangeQueries, type IdRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { RawCursor, type RawBatch } from '../../mongo/raw-cursor.ts';
import { sleep } from '../../service/sleep.ts';
import type { Side } from './sides.ts';

/** Limits how many bytes are read in a second, both sides together. */
export class RateLimit {
  readonly #bytesPerSecond: number | undefined;
  readonly #now: () => number;
  #freeAtMs = 0;

  /** @param bytesPerSecond - undefined for no limit. @param now - milliseconds of a clock that never goes back. */
  constructor(bytesPerSecond: number | undefined, now: () => number = () => performance.now()) {
    this.#bytesPerSecond = bytesPerSecond;
    this.#now = now;
  }

  /** How long to wait after so many bytes have been read, in milliseconds. */
  delayAfter(bytes: number): number {
    if (this.#bytesPerSecond === undefined) return 0;
    const now = this.#now();
    this.#freeAtMs = Math.max(now, this.#freeAtMs) + (bytes * 1000) / this.#bytesPerSecond;
    return this.#freeAtMs - now;
  }

  /** Takes note of bytes that have been read, and waits until more may be. */
  async after(bytes: number, signal: AbortSignal): Promise<void> {
    const delayMs = this.delayAfter(bytes);
    if (delayMs >= 1) await sleep(delayMs, signal);
  }
}

/**
 * How many bytes a batch should have: each worker holds three. Smaller ones cost more CPU time than they save memory: a command
 * takes the program as long as comparing half a megabyte does.
 */
const wantedBytes = 1.5 * 1024 * 1024;

/** Documents of the first batch, whose size nobody knows. A server ends a batch at 16 MiB anyhow. */
const firstFetch = 16;

const maxFetch = 5000;

/** How many documents to ask for, which changes with what has come. */
export interface Fetches {
  readonly documents: number;
  /** Takes note of documents that have come. */
  readonly add: (list: { readonly count: number; readonly bytes: number }) => void;
}

/** How many documents to ask for at once: as many as make a batch of about one and a half megabytes, going by those that have come. */
export class FetchSize implements Fetches {
  #documents = 0;
  #bytes = 0;
  readonly #first: number;

  constructor(first = firstFetch) {
    this.#first = first;
  }

  get documents(): number {
    if (this.#documents === 0) return this.#first;
    const wanted = Math.floor((wantedBytes * this.#documents) / this.#bytes);
    return Math.min(maxFetch, Math.max(1, wanted));
  }

  /** The same, for a read whose batches come in step with those that are added here: they need not be counted. */
  get inStep(): Fetches {
    const of = (): number => this.documents;
    return {
      get documents() {
        return of();
      },
      add: () => undefined,
    };
  }

  /** Takes note of documents that have come. */
  add({ count, bytes }: { readonly count: number; readonly bytes: number }): void {
    this.#documents += count;
    this.#bytes += bytes;
  }
}

/** How documents are read. */
export interface ReadContext {
  /** Which members documents are read from. */
  readonly readPreference: ReadPreferenceMode;
  readonly rateLimit: RateLimit;
  readonly signal: AbortSignal;
}

/** All documents of a collection. */
export const wholeRange: IdRange = { min: null, max: null };

/** Batches of a range's documents of one side, in the order of `_id`. One `_id` may be there twice, on two shards. */
export async function* readRange(
  context: ReadContext,
  side: Side,
  namespace: Namespace,
  range: IdRange,
  fetchSize: Fetches = new FetchSize(),
): AsyncGenerator<RawBatch, void> {
  for (const query of idRangeQueries(range)) {
    yield* readBatches(context, side, namespace, inOrder(side, query), fetchSize);
  }
}

/** Batches of the documents that a query finds. A collection that is not there has none. */
export async function* readBatches(
  context: ReadContext,
  side: Side,
  namespace: Namespace,
  query: Document,
  fetchSize: Fetches = new FetchSize(),
): AsyncGenerator<RawBatch, void> {
  const { rateLimit, signal } = context;
  const find = { ...query, batchSize: fetchSize.documents };
  await using cursor = await openDocuments(context, side, namespace, find);
  for await (const batch of cursor.batches(() => fetchSize.documents)) {
    fetchSize.add(batch.list);
    await rateLimit.after(batch.bytes, signal);
    yield batch;
  }
}

/** A query on `_id` whose documents come in the order of its index. A router gives those of several shards in none unasked. */
export function inOrder({ isSharded }: Side, query: Document): Document {
  return isSharded ? { ...query, sort: { _id: 1 } } : query;
}

async function openDocuments(
  { signal, readPreference }: ReadContext,
  { cluster, readAfter }: Side,
  { db, coll }: Namespace,
  query: Document,
): Promise<RawCursor> {
  const readConcern = { level: 'majority', afterClusterTime: readAfter };
  return await RawCursor.open(
    cluster.raw,
    db,
    { find: coll, ...query, readConcern },
    { signal, readPreference },
  );
}
