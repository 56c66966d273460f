import type { CommitReadiness } from '../../dashboard/api/sync-view.ts';
import { countOf } from '../../service/quantities.ts';
import type { SyncProgress } from '../api/combine.ts';
import type { VerificationProgress } from '../api/verifier-api.ts';
import type { RunOptions } from './options.ts';

/** Whether a run may commit: see {@link CommitReadiness}. Without a verification, nothing is said about differences. */
export function commitReadiness(
  sync: Pick<SyncProgress, 'canCommit' | 'lagSeconds'>,
  verification: VerificationProgress | undefined,
  options: Pick<RunOptions, 'verify' | 'maxLagSeconds'>,
): CommitReadiness {
  const obstacle = obstacleOf(sync, verification, options);
  if (obstacle !== undefined) return { isReady: false, message: obstacle };
  const why = options.verify ? 'the verification knows of no difference' : 'nothing is compared';
  return { isReady: true, message: `every instance can commit, and ${why}` };
}

function obstacleOf(
  { canCommit, lagSeconds }: Pick<SyncProgress, 'canCommit' | 'lagSeconds'>,
  verification: VerificationProgress | undefined,
  { verify, maxLagSeconds }: Pick<RunOptions, 'verify' | 'maxLagSeconds'>,
): string | undefined {
  if (!canCommit) return 'not every instance can commit';
  if (lagSeconds === null) return 'the lag is unknown';
  if (lagSeconds > maxLagSeconds) return `the lag is more than ${maxLagSeconds} s`;
  if (!verify) return undefined;
  const unresolved = verification?.unresolvedMismatchCount ?? null;
  if (unresolved === null) return 'the verification has not compared everything once';
  if (verification?.asOf !== null) return 'the progress of the verification is out of date';
  if (unresolved === 0) return undefined;
  return `the verification has found ${countOf(unresolved, 'difference')}, and rechecks them`;
}
