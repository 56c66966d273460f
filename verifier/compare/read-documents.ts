import type { Document } from 'mongodb';
import { idRangeQueries, type IdRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { RawCursor, type RawBatch } from '../../mongo/raw-cursor.ts';
import type { CompareContext, Side } from './comparison.ts';
import { FetchSize, type Fetches } from './fetch-size.ts';

/** How documents are read. */
type ReadContext = Pick<CompareContext, 'signal' | 'readPreference' | 'rateLimit'>;

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
