import type { WriteResult } from '../operand/status-writer.ts';

/** How long to wait for pods that are terminating. */
export const releaseAgainMs = 1_000;
/** Keeps a step that others undo immediately from busying the operator. */
export const nextStepMs = 100;

/**
 * When a ClusterSync is looked at again after a pass.
 * @param requeueAfterMs - as the decision asks for.
 * @param isLeft - whether a deleted ClusterSync of its name has left something that is yet to be released.
 * @param written - what became of its status; undefined if it was not to be written.
 */
export function delayAfter(
  requeueAfterMs: number,
  isLeft: boolean,
  written: WriteResult | undefined,
): number {
  const delayMs = Math.min(requeueAfterMs, isLeft ? releaseAgainMs : Infinity);
  if (written?.kind !== 'deferred') return delayMs;
  // What waits for this status to be on record would be looked at again and again.
  if (delayMs === 0) return written.forMs;
  return Math.max(nextStepMs, Math.min(delayMs, written.forMs));
}
