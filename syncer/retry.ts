import { isTransient } from '../mongo/server-errors.ts';
import { messageOf } from '../service/errors.ts';
import { backoffMs, sleep } from '../service/sleep.ts';
import type { SyncContext } from './sync-context.ts';

/**
 * Runs work that may be repeated until it succeeds or fails with an error that does not pass. A cluster without a
 * primary is waited for as long as it takes: what ends a sync then is the oplog, not this loop.
 * @param isPassing - which errors are followed by another attempt.
 */
export async function retrying<T>(
  { signal, logger, monitor }: Pick<SyncContext, 'signal' | 'logger' | 'monitor'>,
  work: string,
  run: () => Promise<T>,
  isPassing: (error: unknown) => boolean = isTransient,
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
