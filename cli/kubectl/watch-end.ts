import { conditionIn, type SyncResource, type VerificationResource } from './resources.ts';

/** The exit code of a watch that has not seen each verification find both sides equal. */
const notEqual = 1;

/**
 * Whether a watch is over: its exit code, or undefined while the sync or one of its verifications has not ended.
 * @param unequal - the verifications that were not equal when they were last seen; kept up to date. One of them may be deleted by now.
 */
export function watchEnd(
  sync: Pick<SyncResource, 'phase' | 'isObserved'>,
  verifications: readonly Pick<
    VerificationResource,
    'name' | 'phase' | 'isObserved' | 'conditions'
  >[],
  unequal: Set<string>,
): number | undefined {
  for (const each of verifications) {
    if (isEqual(each)) unequal.delete(each.name);
    else unequal.add(each.name);
  }
  const haveEnded = verifications.every(
    ({ phase, isObserved }) => isObserved && (phase === 'Succeeded' || phase === 'Failed'),
  );
  if (!sync.isObserved || sync.phase !== 'Committed' || !haveEnded) return undefined;
  return unequal.size === 0 ? 0 : notEqual;
}

/** A verdict stays on record when the sync is reversed or replaced; the condition tells whether it is still about the data. */
function isEqual({
  phase,
  conditions,
}: Pick<VerificationResource, 'phase' | 'conditions'>): boolean {
  return phase === 'Succeeded' && conditionIn(conditions, 'Consistent')?.status === 'True';
}
