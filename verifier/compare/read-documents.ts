import type { Document } from 'mongodb';
import { idRangeQueries, type IdRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { RawCursor, type RawBatch } from '../../mongo/raw-cursor.ts';
import type { Side } from './compare-context.ts';

/** Documents for each round trip; the server ends a batch at 16 MiB anyhow. */
const batchSize = 5000;

/** All documents of a collection. */
export const wholeRange: IdRange = { min: null, max: null };

/** Batches of a range's documents of one side, in the order of `_id`. One `_id` may be there twice, on two shards. */
export async function* readRange(
  side: Side,
  namespace: Namespace,
  range: IdRange,
  signal: AbortSignal,
): AsyncGenerator<RawBatch, void> {
  for (const query of idRangeQueries(range)) {
    await using cursor = await readDocuments(side, namespace, inOrder(side, query), signal);
    yield* cursor.batches();
  }
}

/** A query on `_id` whose documents come in the order of its index. A router gives those of several shards in none unasked. */
export function inOrder({ isSharded }: Side, query: Document): Document {
  return isSharded ? { ...query, sort: { _id: 1 } } : query;
}

/** Opens a cursor over documents of one side. A collection that is not there has none. */
export async function readDocuments(
  { cluster, readAfter }: Side,
  { db, coll }: Namespace,
  query: Document,
  signal: AbortSignal,
): Promise<RawCursor> {
  const readConcern = { level: 'majority', afterClusterTime: readAfter };
  return await RawCursor.open(
    cluster.raw,
    db,
    { find: coll, ...query, batchSize, readConcern },
    { signal, batchSize },
  );
}
