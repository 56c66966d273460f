import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { earlierConnections } from '../../mongo/earlier-connections.ts';
import { underOnePrimary } from '../../mongo/one-primary.ts';
import { backgroundBuild, ownOperations, writesOnShards } from '../../mongo/own-operations.ts';
import { retrying } from '../../mongo/retrying.ts';
import { syncDatabase } from '../../mongo/namespace.ts';
import { sleep } from '../../service/sleep.ts';
import type { DestinationContext } from './destination-context.ts';

const pollMs = 50;

/** Commands that change what is copied, or who may write. All others on that database read, or leave nothing. */
const writesOnAdmin = ['renameCollection', 'setUserWriteBlockMode'] as const;

type WaitContext = Pick<DestinationContext, 'destination' | 'signal' | 'logger' | 'monitor'>;

/**
 * Waits until the destination has ended what earlier work of this instance had asked of it, and has seen the end of the
 * connections that this process has given up with writes on them, and of those of the process before it. A server goes
 * on with a write whose client is gone, and a network delivers what it has held: applied now, it would come over what is
 * applied next. Operations that begin later are not waited for.
 */
export async function awaitEarlierWrites(context: WaitContext): Promise<void> {
  const { destination, signal } = context;
  await untilNone(context, 'connections', async () => {
    return await earlierConnections(destination, signal);
  });
  let waitedFor = await operationsOf(context);
  await untilNone(context, 'operations', async () => {
    const running = await operationsOf(context);
    waitedFor = new Set([...waitedFor].filter((operation) => running.has(operation)));
    return waitedFor.size;
  });
}

/**
 * Waits until the source has ended what was asked of it before, as a reversal begins to move the state of the sync there: a drop
 * that comes later would take the new state with it.
 */
export async function awaitEarlierMoves(
  context: Pick<DestinationContext, 'signal' | 'logger' | 'monitor'> & {
    readonly source: ClusterClient;
  },
): Promise<void> {
  await untilNone(context, 'connections', async () => {
    return await earlierConnections(context.source, context.signal);
  });
}

async function untilNone(
  { signal, logger, monitor }: Pick<WaitContext, 'signal' | 'logger' | 'monitor'>,
  what: 'connections' | 'operations',
  count: () => Promise<number>,
): Promise<void> {
  using trouble = monitor.troubles.watch('earlier writes', 'waiting');
  for (let isFirst = true; ; isFirst = false) {
    const waitedFor = await count();
    if (waitedFor === 0) return;
    if (isFirst) logger.info({ [what]: waitedFor }, 'waiting for earlier writes');
    trouble.set(`a server has not ended ${waitedFor} ${what} of before`);
    await sleep(pollMs, signal);
  }
}

/**
 * Repeats work that writes to the destination as {@link retrying} does, but never beside what an attempt that failed has
 * left behind there, and not relying on what such an attempt has changed before a majority has it.
 */
export async function retryingWrites<T>(
  context: DestinationContext,
  work: string,
  run: (attempt: number) => Promise<T>,
): Promise<T> {
  const { destination, signal } = context;
  return await retrying(context, work, async (attempt) => {
    if (attempt === 0) return await run(attempt);
    await awaitEarlierWrites(context);
    return await underOnePrimary(destination, signal, async () => await run(attempt));
  });
}

/**
 * The operations on the destination's data that run under the name of this instance, which a user sees without a role; on
 * a sharded cluster, all that its shards write.
 */
async function operationsOf({ destination, signal }: WaitContext): Promise<Set<string>> {
  if (destination.isSharded) return await writesOnShards(destination.admin, syncDatabase, signal);
  const operations = await ownOperations(
    destination.admin,
    {
      appName: destination.decoded.options.appName,
      op: { $nin: ['query', 'getmore', 'none'] },
      'command.$db': { $ne: syncDatabase },
      $or: [
        { 'command.$db': { $ne: 'admin' } },
        ...writesOnAdmin.map((name) => ({ [`command.${name}`]: { $exists: true } })),
      ],
      'command.comment': { $ne: backgroundBuild },
    },
    signal,
  );
  return new Set(operations.map(({ opid }) => String(opid)));
}
