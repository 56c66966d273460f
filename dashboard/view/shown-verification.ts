import type { VerificationSummary } from '../api/sync-view.ts';

/** Why a verification is shown before others, the most urgent first. */
const reasons: readonly ((one: VerificationSummary) => boolean)[] = [
  ({ verdict }) => verdict === 'different',
  ({ phase }) => phase === 'Failed',
  ({ isStalled }) => isStalled,
  ({ mismatches, verdict }) => (mismatches ?? 0) > 0 && verdict === null,
  ({ verdict, isPart }) => verdict !== 'equal' && !isPart,
  // What compares only a part neither prevents a commit nor proves enough for one.
  ({ isPart }) => !isPart,
  ({ verdict }) => verdict !== 'equal',
];

/** The verification of a sync that tells most of what is in the way of a commit; undefined if there is none. */
export function shownVerification<T extends VerificationSummary>(
  verifications: readonly T[],
): T | undefined {
  const rankOf = (one: T): number => {
    const rank = reasons.findIndex((applies) => applies(one));
    return rank < 0 ? reasons.length : rank;
  };
  return verifications.toSorted((one, other) => rankOf(one) - rankOf(other))[0];
}
