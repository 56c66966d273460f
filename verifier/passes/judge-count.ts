import type { OfSides, SideName } from '../compare/comparison.ts';
import type { Tally } from '../store/records.ts';

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
