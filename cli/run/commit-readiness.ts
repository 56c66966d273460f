import type { CommitReadiness } from '../../dashboard/api/sync-view.ts';
import { openDifferences } from '../../sync-api/open-differences.ts';
import type { SyncProgress } from '../api/combine.ts';
import type { VerificationProgress } from '../api/verifier-api.ts';
import type { RunOptions } from './options.ts';

type LagOptions = Pick<RunOptions, 'verify' | 'maxLagSeconds'>;

/**
 * Whether a run may commit: every instance can commit, the lag is small, and no difference is known that the lag does not explain.
 * Without a verification, nothing is said about differences.
 */
export function commitReadiness(
  sync: Pick<SyncProgress, 'canCommit' | 'lagSeconds'>,
  verification: VerificationProgress | undefined,
  options: LagOptions,
): CommitReadiness {
  const obstacle =
    obstacleOfSync(sync, options) ??
    (options.verify ? obstacleOfVerification(verification, options) : undefined);
  if (obstacle !== undefined) return { isReady: false, message: obstacle };
  const why = options.verify ? 'no difference remains' : 'nothing is compared';
  return { isReady: true, message: `every instance can commit, and ${why}` };
}

function obstacleOfSync(
  { canCommit, lagSeconds }: Pick<SyncProgress, 'canCommit' | 'lagSeconds'>,
  { maxLagSeconds }: LagOptions,
): string | undefined {
  if (!canCommit) return 'not every instance can commit';
  if (lagSeconds === null) return 'the lag is unknown';
  return lagSeconds > maxLagSeconds ? `the lag is more than ${maxLagSeconds} s` : undefined;
}

function obstacleOfVerification(
  verification: VerificationProgress | undefined,
  { maxLagSeconds }: LagOptions,
): string | undefined {
  const open = verification && openDifferences(verification.reported, maxLagSeconds);
  if (open === undefined || open === 'unknown')
    return 'the verification has not compared everything once';
  if (verification?.asOf !== null) return 'the progress of the verification is out of date';
  return open === 'old'
    ? 'the verification has found differences, and rechecks them; repair the sync if they remain'
    : undefined;
}

/** A difference is certainly no longer explained by the lag after so many times as much. */
const lagsToWait = 4;

/** Whether a verification has found a difference that remains: its document has not changed for long enough on either side. */
export function differencesRemain(
  verification: VerificationProgress,
  { maxLagSeconds }: Pick<RunOptions, 'maxLagSeconds'>,
): boolean {
  const { lastPass } = verification.reported;
  return (lastPass?.longestSeconds ?? 0) > maxLagSeconds * lagsToWait;
}
