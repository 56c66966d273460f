import { setTimeout as delay } from 'node:timers/promises';

/** The longest that a timer of Node.js waits: it takes a longer time for 1 ms. */
const maxTimerMs = 2 ** 31 - 1;

/** Waits for `ms` milliseconds, or 24 days if that is more. Rejects with the signal's reason as soon as it is aborted. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  try {
    await delay(Math.min(ms, maxTimerMs), undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

/** Exponential back-off with jitter: the delay in milliseconds before attempt `attempt` (0 is the first retry). */
export function backoffMs(
  attempt: number,
  { baseMs = 100, maxMs = 10_000, random = Math.random }: BackoffOptions = {},
): number {
  const ceiling = Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 30));
  return ceiling / 2 + (ceiling / 2) * random();
}

/** Bounds of a back-off. */
export interface BackoffOptions {
  readonly baseMs?: number;
  readonly maxMs?: number;
  readonly random?: () => number;
}
