import { numberOf } from '../service/json-fields.ts';
import type { ReportedVerification } from './verifier-answers.ts';

/**
 * What is known of the differences between both sides of a running sync. none: the last pass to end has found none, nor has the one
 * under way so far. recent: only such as the destination's lag explains, since no difference is older than the lag may be. old: others,
 * or not everything was compared. unknown: no pass has ended.
 */
export type OpenDifferences = 'none' | 'recent' | 'old' | 'unknown';

/** A pass that ended before this says nothing of what was changed since, unless the one under way has found nothing so far. */
const maxAgeSeconds = 90;

/**
 * What a verification knows of differences. Undefined if it does not report its last pass: what the pass under way has found proves
 * nothing, since that begins with nothing.
 * @param maxLagSeconds - how far the destination may be behind.
 */
export function openDifferences(
  { lastPass, verificationStatus }: Pick<ReportedVerification, 'lastPass' | 'verificationStatus'>,
  maxLagSeconds: number,
): OpenDifferences | undefined {
  if (lastPass === undefined) return undefined;
  if (lastPass === null) return 'unknown';
  const { mismatchCount, longestSeconds, isWhole, shortSeconds, ageSeconds } = lastPass;
  const isNothingFound = failedTasks(verificationStatus) === 0;
  if (isWhole && mismatchCount === 0 && isNothingFound) return 'none';
  // What a long pass has found first may be older than it tells, until short ones have compared it again for as long as the lag.
  const isLagged = longestSeconds <= maxLagSeconds && shortSeconds > maxLagSeconds;
  const isCurrent = isNothingFound || ageSeconds <= maxAgeSeconds;
  return isWhole && isLagged && isCurrent ? 'recent' : 'old';
}

/** The tasks of a pass that have found differences, of documents or metadata. */
export function failedTasks(counts: ReportedVerification['verificationStatus']): number {
  return taskCount(counts, 'failedTasks', 'metadataMismatchTasks');
}

/** The sum of some counts of the contract; those that a tool leaves out count as 0. */
export function taskCount(
  counts: ReportedVerification['verificationStatus'],
  ...names: readonly string[]
): number {
  return names.reduce((sum, name) => sum + (numberOf(counts?.[name]) ?? 0), 0);
}
