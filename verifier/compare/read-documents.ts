import type { Document } from 'mongodb';
import type { Namespace } from '../../mongo/namespace.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import type { Side } from './compare-context.ts';

/** Documents for each round trip; the server ends a batch at 16 MiB anyhow. */
const batchSize = 5000;

/** A range of `_id` in the order of its index: `min` is part of it, `max` is not; null is open. */
export interface IdRange {
  readonly min: Document | null;
  readonly max: Document | null;
}

/** All documents of a collection. */
export const wholeRange: IdRange = { min: null, max: null };

/** The part of a find command that reads a range in the order of the index on `_id`, across BSON types. */
export function rangeQuery({ min, max }: IdRange): Document {
  return {
    hint: { _id: 1 },
    ...(min === null ? {} : { min }),
    ...(max === null ? {} : { max }),
  };
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
