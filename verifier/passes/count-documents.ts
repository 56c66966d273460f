import { BSON, type Document } from 'mongodb';
import { checkedRow } from '../../mongo/checked-value.ts';
import { isNoCollection } from '../../mongo/catalog.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { hostsOf, RawCursor } from '../../mongo/raw-cursor.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { readWhole } from '../../mongo/whole-reading.ts';
import type { OfSides, Side, SideName } from '../compare/sides.ts';
import type { Tally } from '../store/records.ts';

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
    const collection = cluster.decoded.db(namespace.db).collection(namespace.coll);
    const rows = await readWhole(collection.aggregate(stats, { signal }));
    let total = 0;
    for (const row of rows) {
      const stats = checkedRow(row, 'an answer to $collStats', hostsOf(cluster.decoded));
      const orphans = isSharded ? stats.optional('orphans')?.count() : 0;
      // Servers before 6.0.3 do not say how many are left.
      if (orphans === undefined) return undefined;
      total += stats.field('count').count() - orphans;
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
    for (const document of documents) {
      const row = checkedRow(BSON.deserialize(document), 'a count of documents', cursor.address);
      return row.field('count').count();
    }
  }
  return 0;
}

/** What is known of the number of documents of a collection. */
export interface CountEvidence {
  /** Documents that the comparison of the whole collection has read. */
  readonly read: OfSides<number>;
  /** What was inserted and deleted since the pass of that comparison was planned, by the change streams. */
  readonly tally: Tally;
  /** What each side counts after all writes. */
  readonly counted: OfSides<number>;
  /** True where documents expire: each side deletes them in its own time. */
  readonly isExpiring: boolean;
}

const sides: readonly SideName[] = ['source', 'destination'];

/**
 * True where counts by the statistics leave no doubt: where they are what was read, and nothing was inserted or deleted since.
 * Bounds that are wider may hide what statistics count too much or too little: what transactions have inserted or deleted that
 * are still open, what a server has lost count of that was killed, and orphans that a shard does not know as such.
 */
export function isSettledByStatistics(evidence: CountEvidence): boolean {
  const { inserted, deleted } = evidence.tally;
  const isQuiet = sides.every((side) => inserted[side] === 0 && deleted[side] === 0);
  return isQuiet && countDoubt(evidence) === undefined;
}

/**
 * Says why the numbers of documents do not add up; undefined where they do.
 *
 * A document that is there at the end was read, or an event tells that it was inserted. One that was read is there at the end, or an
 * event tells that it was deleted. So a count lies within what was read, more by the inserts at most, less by the deletes at
 * most; without either it is that number. And both sides count the same. What expires may be deleted on one side first, and no
 * event tells of it any more once the changes are not followed: there a count may be lower, but never higher.
 */
export function countDoubt({
  read,
  tally,
  counted,
  isExpiring,
}: CountEvidence): string | undefined {
  for (const side of sides) {
    const most = read[side] + tally.inserted[side];
    const least = isExpiring ? 0 : read[side] - tally.deleted[side];
    if (counted[side] > most || counted[side] < least) {
      return `the ${side} counts ${counted[side]} documents, and ${read[side]} were compared (${tally.inserted[side]} inserts and ${tally.deleted[side]} deletes since)`;
    }
  }
  if (!isExpiring && counted.source !== counted.destination) {
    return `the source counts ${counted.source} documents, the destination ${counted.destination}`;
  }
  return undefined;
}
