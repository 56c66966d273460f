import assert from 'node:assert/strict';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import { until } from '../../ground/until.ts';
import type { OperatorGround } from './operator-ground.ts';
import { applying, type StandIn } from './stand-in.ts';

/**
 * Checks that figures that move all the time are written seldom, and shown by the metrics at once.
 * @param port - of the operator's metrics.
 * @param syncer - of a sync that is in sync.
 */
export async function assertFiguresAreWrittenSeldom(
  ground: OperatorGround,
  port: number,
  namespace: string,
  syncer: StandIn,
): Promise<void> {
  const writes = async (): Promise<number[]> =>
    (await ground.server.auditedWrites()).flatMap(({ receivedMs, ...write }) =>
      write.namespace === namespace && write.resource === 'clustersyncs' ? [receivedMs] : [],
    );
  const { length: former } = await writes();
  syncer.onPoll = () => {
    syncer.progress = { progress: { ...applying, lagTimeSeconds: 100 + syncer.polls } };
  };
  await until('they are written twice', async () => (await writes()).length >= former + 2);
  const [first = 0, second = 0] = (await writes()).slice(former);
  assert.ok(second - first >= 1_900, `${second - first} ms`);
  const lag = async (): Promise<number> => {
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const [, value] =
      new RegExp(`clustersync_lag_seconds{namespace="${namespace}".*} (\\d+)`).exec(metrics) ?? [];
    return Number(value);
  };
  await until('the metrics are newer than the status', async () => {
    const status = (await ground.get(clusterSyncs, namespace, 'orders'))?.status;
    return (await lag()) > (status?.lagTimeSeconds ?? Number.POSITIVE_INFINITY);
  });
  syncer.onPoll = () => undefined;
  syncer.progress = { progress: { ...applying, canCommit: false } };
  await ground.untilSync(namespace, 'it is told', ({ canCommit }) => canCommit === false);
}
