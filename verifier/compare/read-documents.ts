import type { Document, ReadPreferenceMode } from 'mongodb';
import { idRangeQueries, type IdRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { bsonType, idElement } from '../../mongo/raw-bson.ts';
import { RawCursor, type RawBatch } from '../../mongo/raw-cursor.ts';
import type { TokenBucket } from '../../service/token-bucket.ts';
import { readConcernOf, type Side } from './sides.ts';

/**
 * The target size of a batch: each worker holds three. Smaller ones cost more CPU time than they save memory: a command
 * costs as much as comparing half a megabyte.
 */
const wantedBytes = 1.5 * 1024 * 1024;

/** Documents of the first batch, whose size is unknown. A server ends a batch at 16 MiB anyhow. */
const firstFetch = 16;

const maxFetch = 5000;

/** How many documents to request, depending on those received. */
export interface Fetches {
  readonly documents: number;
  /** Records documents that were received. */
  readonly add: (list: { readonly count: number; readonly bytes: number }) => void;
}

/** How many documents to request at a time: enough for a batch of about one and a half megabytes, judging by those received. */
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

  /** The same for a read whose batches arrive in step with those that are added here, so that its own need not be counted. */
  get inStep(): Fetches {
    const of = (): number => this.documents;
    return {
      get documents() {
        return of();
      },
      add: () => undefined,
    };
  }

  /** Records documents that were received. */
  add({ count, bytes }: { readonly count: number; readonly bytes: number }): void {
    this.#documents += count;
    this.#bytes += bytes;
  }
}

/** How documents are read. */
export interface ReadContext {
  /** Which members to read documents from. */
  readonly readPreference: ReadPreferenceMode;
  /** How many bytes may be read, of both sides together: they are counted once they have been. */
  readonly rateLimit: TokenBucket;
  readonly signal: AbortSignal;
}

/** Batches of a range's documents of one side, in the order of `_id`. One `_id` may occur twice, on two shards. */
export async function* readRange(
  context: ReadContext,
  side: Side,
  namespace: Namespace,
  range: IdRange,
  fetchSize: Fetches = new FetchSize(),
): AsyncGenerator<RawBatch, void> {
  let hasMaxKey = false;
  for (const query of idRangeQueries(range)) {
    // A range of a clustered collection reaches MaxKey, which has a query of its own.
    if (hasMaxKey) return;
    const batches = readBatches(context, side, namespace, inOrder(side, query), fetchSize);
    for await (const batch of batches) {
      const { last } = batch.list;
      hasMaxKey ||= last !== undefined && idElement(last).type === bsonType.maxKey;
      yield batch;
    }
  }
}

/** Batches of the documents that a query finds. A missing collection has none. */
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
    await rateLimit.take(batch.bytes, signal);
    yield batch;
  }
}

/** A query on `_id` that returns documents in index order. A router does not sort those of several shards unless asked to. */
export function inOrder({ isSharded }: Side, query: Document): Document {
  return isSharded ? { ...query, sort: { _id: 1 } } : query;
}

async function openDocuments(
  { signal, readPreference }: ReadContext,
  side: Side,
  { db, coll }: Namespace,
  query: Document,
): Promise<RawCursor> {
  return await RawCursor.open(
    side.cluster.raw,
    db,
    { find: coll, ...query, readConcern: readConcernOf(side) },
    { signal, readPreference },
  );
}
