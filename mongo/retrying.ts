import type { Logger } from '../service/logger.ts';
import { backoffMs, sleep } from '../service/sleep.ts';
import { Patience } from './patience.ts';
import { isTransient } from './server-errors.ts';
import type { RetryWarnings } from './retry-warnings.ts';

/** What retries need. */
export interface RetryContext {
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly monitor: {
    readonly retryWarnings: RetryWarnings;
    addRetry(work: string, error: unknown): void;
  };
}

/**
 * Runs work that may be repeated until it succeeds or fails with a permanent error. It waits for a cluster without a primary as
 * long as it takes: the oplog ends a sync then, not this loop. After errors that may or may not be temporary, it retries for a
 * limited time (Patience).
 * @param work - its name, for the log, the warnings and the metrics.
 * @param run - gets the number of failures so far.
 * @param isPassing - which errors to retry after, however many there were.
 */
export async function retrying<T>(
  { signal, logger, monitor }: RetryContext,
  work: string,
  run: (attempt: number) => Promise<T>,
  isPassing: (error: unknown) => boolean = isTransient,
  patience = new Patience(),
): Promise<T> {
  using warning = monitor.retryWarnings.watch(work);
  for (let attempt = 0; ; attempt++) {
    try {
      return await run(attempt);
    } catch (error) {
      signal.throwIfAborted();
      const reason = patience.reasonToRetry(error, isPassing(error));
      if (reason === undefined) throw error;
      monitor.addRetry(work, error);
      warning.set(reason);
      logger.warn({ work, attempt, reason }, 'trying again');
      await sleep(backoffMs(attempt), signal);
    }
  }
}
