/** An index that is left to the commit, as people are told of it. */
export interface LeftIndex {
  /** `db.coll` on the destination. */
  readonly namespace: string;
  readonly name: string;
  /** The name of the error with which the destination has refused it. */
  readonly reason: string;
  /** How long building it is expected to take; null where that is not known. */
  readonly expectedSeconds: number | null;
  /** Whether it is never built before: that of a capped collection. */
  readonly isBuiltByCommitAlone: boolean;
}

/** What is told of at most; the rest is counted. */
const maxTold = 20;

/** What people are told of the indexes that are left to the commit. */
export function leftIndexWarnings(left: readonly LeftIndex[]): string[] {
  const told = left.slice(0, maxTold).map((index) => {
    const { namespace, name, reason, expectedSeconds, isBuiltByCommitAlone } = index;
    const unless = isBuiltByCommitAlone ? '' : ', unless it can be built earlier';
    const time =
      expectedSeconds === null
        ? 'the build time is unknown'
        : `the build is expected to take ${expectedSeconds} s`;
    return `index ${name} of ${namespace} is left to the commit${unless} (${reason}): ${time}`;
  });
  const more = left.length - told.length;
  return more > 0 ? [...told, `${more} more indexes are left to the commit`] : told;
}
