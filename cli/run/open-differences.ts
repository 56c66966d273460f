import type { VerificationProgress } from '../api/verifier-api.ts';

/** Each pass compares again what the one before has found. */
const minPasses = 5;
/** A difference cannot be older than the lag, unless it remains. */
const lagsToWait = 4;

/** Watches how long a verification has known of differences without a break. */
export class OpenDifferences {
  readonly #minMs: number;
  #since: { readonly generation: number; readonly atMs: number } | undefined;

  /** @param maxLagSeconds - how far the destination may be behind when it is ready to commit. */
  constructor(maxLagSeconds: number) {
    this.#minMs = maxLagSeconds * 1000 * lagsToWait;
  }

  /**
   * Notes what a verification reports.
   * @param isLagSmall - whether the lag is small enough to commit. Otherwise nothing is known of what remains.
   * @returns true once it has known of differences for so long that the lag does not explain them.
   */
  remain(
    { unresolvedMismatchCount, generation }: VerificationProgress,
    isLagSmall: boolean,
    nowMs: number,
  ): boolean {
    if ((unresolvedMismatchCount ?? 0) === 0 || !isLagSmall) {
      this.#since = undefined;
      return false;
    }
    this.#since ??= { generation, atMs: nowMs };
    const { generation: first, atMs } = this.#since;
    return generation - first >= minPasses && nowMs - atMs >= this.#minMs;
  }
}
