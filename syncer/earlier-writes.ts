import type { Document } from 'mongodb';
import { runCommand } from '../mongo/cluster-client.ts';
import { syncDatabase } from '../mongo/namespace.ts';
import { sleep } from '../service/sleep.ts';
import type { SyncContext } from './sync-context.ts';

const pollMs = 50;

/**
 * Waits until the destination has ended what earlier work of this instance had asked of it. A server goes on with a write
 * whose client is gone: applied now, it would come over what is applied next. Operations that begin later are not
 * waited for.
 * @param appName - the name of this instance's connections.
 */
export async function awaitEarlierWrites(context: SyncContext, appName: string): Promise<void> {
  const { signal, logger } = context;
  let waitedFor = await operationsOf(context, appName);
  while (waitedFor.size > 0) {
    logger.info({ operations: waitedFor.size }, 'waiting for earlier writes');
    await sleep(pollMs, signal);
    const running = await operationsOf(context, appName);
    waitedFor = new Set([...waitedFor].filter((operation) => running.has(operation)));
  }
}

/** The operations on the destination's data that run under the name of this instance; a user sees his own without a role. */
async function operationsOf(
  { destination, signal }: SyncContext,
  appName: string,
): Promise<Set<string>> {
  const pipeline = [
    { $currentOp: { allUsers: false, idleConnections: false } },
    {
      $match: {
        appName,
        active: true,
        op: { $nin: ['query', 'getmore', 'none'] },
        'command.$db': { $nin: ['admin', syncDatabase] },
      },
    },
    { $project: { opid: 1 } },
  ];
  const answer = await runCommand(
    destination.admin,
    { aggregate: 1, pipeline, cursor: { batchSize: 10_000 } },
    { signal },
  );
  const { firstBatch } = answer['cursor'] as { firstBatch: Document[] };
  return new Set(firstBatch.map(({ opid }) => String(opid)));
}
