import type { ClusterClient } from '../../mongo/cluster-client.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import { earlierConnections } from '../../mongo/earlier-connections.ts';
import type { RetryWarnings } from '../../mongo/retry-warnings.ts';
import type { Logger } from '../../service/logger.ts';
import { sleep } from '../../service/sleep.ts';
import { destinationKindOf } from './destination-kind.ts';

const pollMs = 50;

/** What waiting is told to. */
interface Waiting {
  readonly monitor: { readonly retryWarnings: RetryWarnings };
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Waits until the destination has ended what earlier work of this instance had asked of it, and has seen the end of the
 * connections that this process has given up with writes on them, and of those of the process before it. A server goes
 * on with a write whose client is gone, and a network delivers what it has held: applied now, it would come over what is
 * applied next. Operations that begin later are not waited for.
 */
export async function awaitEarlierWrites(
  context: Waiting & { readonly destination: Deployment },
): Promise<void> {
  const { destination, signal } = context;
  const kind = destinationKindOf(destination);
  await awaitEarlierConnections(context, destination);
  let waitedFor = await kind.operationsUnderWay(signal);
  await untilNone(context, 'operations', async () => {
    const running = await kind.operationsUnderWay(signal);
    waitedFor = new Set([...waitedFor].filter((operation) => running.has(operation)));
    return waitedFor.size;
  });
}

/**
 * Waits until a cluster has seen the end of the connections that this process has given up with writes on them, and of those of the
 * process before it.
 */
export async function awaitEarlierConnections(
  waiting: Waiting,
  cluster: ClusterClient,
): Promise<void> {
  await untilNone(waiting, 'connections', async () => {
    return await earlierConnections(cluster, waiting.signal);
  });
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
