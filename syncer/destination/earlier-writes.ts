import type { ClusterClient } from '../../mongo/cluster-client.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import { earlierConnections } from '../../mongo/earlier-connections.ts';
import type { RetryWarnings } from '../../mongo/retry-warnings.ts';
import type { Logger } from '../../service/logger.ts';
import { sleep } from '../../service/sleep.ts';
import { syncerName } from '../store/clusters.ts';
import { destinationKindOf } from './destination-kind.ts';

const pollMs = 50;

/** What reports of the waiting go to. */
interface Waiting {
  readonly monitor: { readonly retryWarnings: RetryWarnings };
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Waits until the destination has ended everything that earlier work of this instance requested, and has seen the end of the
 * connections that this process, and the one before it, abandoned with writes on them. A server continues a write after its
 * client is gone, and a network delivers what it has held back: applied now, it would overwrite what is applied next. It does
 * not wait for operations that begin later.
 */
export async function awaitEarlierWrites(
  context: Waiting & { readonly destination: Deployment },
): Promise<void> {
  const { destination, signal } = context;
  const kind = destinationKindOf(destination);
  await awaitEarlierConnections(context, destination);
  let waitedFor = await kind.operationsUnderWay(signal);
  if (waitedFor.size === 0) return;
  await untilNone(context, 'operations', async () => {
    const running = await kind.operationsUnderWay(signal);
    waitedFor = new Set([...waitedFor].filter((operation) => running.has(operation)));
    return waitedFor.size;
  });
}

/**
 * Waits until a cluster has seen the end of the connections that this process, and the one before it, abandoned with writes on
 * them.
 */
export async function awaitEarlierConnections(
  waiting: Waiting,
  cluster: ClusterClient,
): Promise<void> {
  await untilNone(waiting, 'connections', async () => {
    return await earlierConnections(cluster, waiting.signal);
  });
}

/** Instances that were the coordinator. */
export interface FormerCoordinators {
  readonly instances: readonly string[];
  /** None of them has sent anything as the coordinator since then, by performance.now. */
  readonly sinceMs: number;
}

/**
 * Waits until a cluster has seen the end of the connections of previous coordinators, or until 30 s after the last of them was
 * one: the network may hold a change of the catalog that it has sent.
 */
export async function awaitConnectionsOf(
  former: FormerCoordinators,
  waiting: Waiting,
  cluster: ClusterClient,
): Promise<void> {
  await untilNone(waiting, 'connections', async () => {
    return await connectionsOf(former, cluster, waiting.signal);
  });
}

/** How many connections of previous coordinators may still deliver something to a cluster: see {@link awaitConnectionsOf}. */
export async function connectionsOf(
  { instances, sinceMs }: FormerCoordinators,
  cluster: ClusterClient,
  signal: AbortSignal,
): Promise<number> {
  let sum = 0;
  for (const id of instances)
    sum += await cluster.formerConnections.of(`${syncerName}${id}`, sinceMs).count(cluster, signal);
  return sum;
}

async function untilNone(
  { signal, logger, monitor }: Waiting,
  what: 'connections' | 'operations',
  count: () => Promise<number>,
): Promise<void> {
  using warning = monitor.retryWarnings.watch('earlier writes', 'waiting');
  for (let isFirst = true; ; isFirst = false) {
    const waitedFor = await count();
    if (waitedFor === 0) return;
    if (isFirst) logger.info({ [what]: waitedFor }, 'waiting for earlier writes');
    warning.set(`a server has not completed ${waitedFor} earlier ${what}`);
    await sleep(pollMs, signal);
  }
}
