import type { SyncResource, VerificationResource } from './resources.ts';

/** The exit code of a watch that has seen a verification end without the verdict that both sides are equal. */
const notEqual = 1;

/** Whether a watch is over: its exit code, or undefined while the sync or one of its verifications has not ended. */
export function watchEnd(
  sync: Pick<SyncResource, 'phase' | 'isObserved'>,
  verifications: readonly Pick<VerificationResource, 'phase' | 'isObserved'>[],
): number | undefined {
  const phases = verifications.map(({ phase, isObserved }) => (isObserved ? phase : 'Pending'));
  const haveEnded = phases.every((phase) => phase === 'Succeeded' || phase === 'Failed');
  if (!sync.isObserved || sync.phase !== 'Committed' || !haveEnded) return undefined;
  return phases.includes('Failed') ? notEqual : 0;
}
