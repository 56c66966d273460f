import { BSON, type Document } from 'mongodb';
import { checkedRow } from '../../mongo/checked-value.ts';
import { isNoCollection } from '../../mongo/catalog.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { hostsOf, RawCursor } from '../../mongo/raw-cursor.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { readWhole } from '../../mongo/whole-reading.ts';
import type { SideName, Sides } from '../../mongo/sides.ts';
import type { Side } from '../compare/sides.ts';
import type { Tally } from '../store/records.ts';

/**
 * The number of documents according to the collection's statistics, less what migrated chunks have left behind;
 * undefined if they cannot tell. It needs no scan, and may be wrong after a server was killed.
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

/** Counts the documents one by one, in the index on `_id`, after the writes that the side's reads wait for. */
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

/** What is known about the number of documents of a collection. */
export interface CountEvidence {
  /** Documents read by the comparison of the whole collection. */
  readonly read: Sides<number>;
  /** Inserts and deletes since that comparison's pass was planned, according to the change streams. */
  readonly tally: Tally;
  /** The count of each side after all writes. */
  readonly counted: Sides<number>;
  /** True if documents expire: each side deletes them at its own pace. */
  readonly isExpiring: boolean;
}

const sides: readonly SideName[] = ['source', 'destination'];

/**
 * True if counts from statistics leave no doubt: if they equal the documents read, and nothing was inserted or deleted since.
 * Wider bounds may hide errors of the statistics: inserts and deletes of open transactions, counts lost when a server was
 * killed, and orphans that a shard does not know about.
 */
export function isSettledByStatistics(evidence: CountEvidence): boolean {
  const { inserted, deleted } = evidence.tally;
  const isQuiet = sides.every((side) => inserted[side] === 0 && deleted[side] === 0);
  return isQuiet && countDoubt(evidence) === undefined;
}

/**
 * Explains why the numbers of documents do not add up; undefined if they do.
 *
 * A document that exists at the end was read, or an event reports its insert. One that was read exists at the end, or an
 * event reports its delete. So a count is at most what was read plus the inserts, and at least what was read less the deletes;
 * without either it is that number. And both sides have the same count. Expired documents may be deleted on one side first, and no
 * event reports it once the changes are no longer followed: then a count may be lower, but never higher.
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
