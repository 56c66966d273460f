import { messageOf } from '../service/errors.ts';
import type { Logger } from '../service/logger.ts';
import { backoffMs, sleep } from '../service/sleep.ts';
import { Patience } from './patience.ts';
import { isTransient } from './server-errors.ts';
import type { RetryWarnings } from './retry-warnings.ts';

/** What repeating needs. */
export interface RetryContext {
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly monitor: {
    readonly retryWarnings: RetryWarnings;
    addRetry(work: string, error: unknown): void;
  };
}

/**
 * Runs work that may be repeated until it succeeds or fails with an error that does not pass. A cluster without a
 * primary is waited for as long as it takes: what ends a sync then is the oplog, not this loop. Errors of which a server does
 * not say whether they pass are followed by attempts for a limited time (Patience).
 * @param work - what it is, for the log, the warnings and the metrics.
 * @param run - is given how often it has failed.
 * @param isPassing - which errors are followed by another attempt, however many there were.
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
      const isKnown = isPassing(error);
      if (isKnown) patience.reset();
      else if (!patience.allows(error)) throw error;
      monitor.addRetry(work, error);
      const reason = isKnown ? messageOf(error) : `${messageOf(error)} (${patience.hint})`;
      warning.set(reason);
      logger.warn({ work, attempt, reason }, 'trying again');
      await sleep(backoffMs(attempt), signal);
    }
  }
}
