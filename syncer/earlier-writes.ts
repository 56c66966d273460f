import { underOnePrimary } from '../mongo/one-primary.ts';
import { ownOperations } from '../mongo/own-operations.ts';
import { retrying } from '../mongo/retrying.ts';
import { syncDatabase } from '../mongo/namespace.ts';
import { sleep } from '../service/sleep.ts';
import type { SyncContext } from './sync-context.ts';

const pollMs = 50;

/**
 * Waits until the destination has ended what earlier work of this instance had asked of it. A server goes on with a write
 * whose client is gone: applied now, it would come over what is applied next. Operations that begin later are not
 * waited for.
 */
export async function awaitEarlierWrites(context: SyncContext): Promise<void> {
  const { signal, logger } = context;
  let waitedFor = await operationsOf(context);
  while (waitedFor.size > 0) {
    logger.info({ operations: waitedFor.size }, 'waiting for earlier writes');
    await sleep(pollMs, signal);
    const running = await operationsOf(context);
    waitedFor = new Set([...waitedFor].filter((operation) => running.has(operation)));
  }
}

/**
 * Repeats work that writes to the destination as {@link retrying} does, but never beside what an attempt that failed has
 * left behind there, and not relying on what such an attempt has changed before a majority has it.
 */
export async function retryingWrites<T>(
  context: SyncContext,
  work: string,
  run: () => Promise<T>,
): Promise<T> {
  const { destination, signal } = context;
  return await retrying(context, work, async (attempt) => {
    if (attempt === 0) return await run();
    await awaitEarlierWrites(context);
    return await underOnePrimary(destination, signal, run);
  });
}

/** The operations on the destination's data that run under the name of this instance; a user sees his own without a role. */
async function operationsOf({ destination, signal }: SyncContext): Promise<Set<string>> {
  const operations = await ownOperations(
    destination,
    {
      appName: destination.decoded.options.appName,
      op: { $nin: ['query', 'getmore', 'none'] },
      'command.$db': { $nin: ['admin', syncDatabase] },
    },
    signal,
  );
  return new Set(operations);
}
