import { isCursorLost, isTransient } from '../mongo/server-errors.ts';
import { messageOf } from '../service/errors.ts';
import type { Logger } from '../service/logger.ts';
import { backoffMs, sleep } from '../service/sleep.ts';
import type { VerifierMonitor } from './monitor.ts';

/** What repeating needs. */
export interface RetryContext {
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly monitor: VerifierMonitor;
}

/** True for errors after which the same reading may be begun again. */
export function isPassing(error: unknown): boolean {
  return isTransient(error) || isCursorLost(error);
}

/** Runs work until it succeeds or fails with an error that does not pass. */
export async function retrying<T>(
  { signal, logger, monitor }: RetryContext,
  work: string,
  run: () => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      signal.throwIfAborted();
      if (!isPassing(error)) throw error;
      monitor.addRetry(work);
      logger.warn({ work, attempt, reason: messageOf(error) }, 'trying again');
      await sleep(backoffMs(attempt), signal);
    }
  }
}
