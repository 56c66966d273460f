import { BSON, type Document } from 'mongodb';
import { isNoCollection } from '../../mongo/catalog.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import type { Side } from '../compare/comparison.ts';

/**
 * The number of documents as the statistics of a collection have it, less what chunks that were moved away have left;
 * undefined where they cannot tell. It costs no scan, and may be wrong after a server was killed.
 */
export async function countByStatistics(
  { cluster, isSharded }: Side,
  namespace: Namespace,
  signal: AbortSignal,
): Promise<number | undefined> {
  const stats = [
    { $collStats: { storageStats: {} } },
    { $project: { count: '$storageStats.count', orphans: '$storageStats.numOrphanDocs' } },
  ];
  try {
    const rows = await cluster.decoded
      .db(namespace.db)
      .collection(namespace.coll)
      .aggregate(stats, { signal })
      .toArray();
    let total = 0;
    for (const { count, orphans } of rows) {
      // Servers before 6.0.3 do not say how many are left.
      if (isSharded && orphans === undefined) return undefined;
      total += Number(count ?? 0) - (isSharded ? Number(orphans) : 0);
    }
    return total;
  } catch (error) {
    if (isNoCollection(error) || codeOf(error) === serverCode.unauthorized) return undefined;
    throw error;
  }
}

/** Counts the documents one by one, in the index on `_id`, after the writes that the side is read after. */
export async function countByScan(
  { cluster, readAfter }: Side,
  { db, coll }: Namespace,
  signal: AbortSignal,
): Promise<number> {
  const command: Document = {
    aggregate: coll,
    pipeline: [{ $group: { _id: null, count: { $sum: 1 } } }],
    cursor: {},
    hint: { _id: 1 },
    readConcern: { level: 'majority', afterClusterTime: readAfter },
  };
  await using cursor = await RawCursor.open(cluster.raw, db, command, { signal });
  for await (const { documents } of cursor.batches()) {
    for (const document of documents) return Number(BSON.deserialize(document)['count']);
  }
  return 0;
}
