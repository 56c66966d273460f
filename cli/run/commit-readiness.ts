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
    ? 'the verification has found differences, and rechecks them; if they remain, list them (clustersync verifier report), repair the sync, or run again with --no-verify'
    : undefined;
}

/** A difference is certainly no longer explained by the lag after so many times as much, */
const lagsToWait = 4;
/** and no earlier than this. */
const minSeconds = 10;

/**
 * Watches whether only differences keep a run from its commit, and for how long. While the destination lags more than it may, nothing is
 * known of what remains; and what was found before this command began may have been corrected since.
 */
export class RemainingDifferences {
  readonly #options: LagOptions;
  #since: { readonly generation: number; readonly atMs: number } | undefined;

  constructor(options: LagOptions) {
    this.#options = options;
  }

  /** @returns true once a difference has lasted for so long that the lag does not explain it. */
  remain(
    sync: Pick<SyncProgress, 'canCommit' | 'lagSeconds'>,
    { reported, generation }: VerificationProgress,
    nowMs: number,
  ): boolean {
    const { lastPass } = reported;
    if (!lastPass || obstacleOfSync(sync, this.#options) !== undefined) {
      this.#since = undefined;
      return false;
    }
    this.#since ??= { generation, atMs: nowMs };
    const seconds = Math.max(minSeconds, this.#options.maxLagSeconds * lagsToWait);
    const isNewPass = lastPass.generation > this.#since.generation;
    const isLongEnough = nowMs - this.#since.atMs >= seconds * 1000;
    return isNewPass && isLongEnough && lastPass.longestSeconds > seconds;
  }
}
