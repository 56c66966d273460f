import assert from 'node:assert/strict';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import {
  networkPolicies,
  services,
  statefulSets,
} from '../../../operator/kube/builtin-resources.ts';
import { isConflict } from '../../../operator/kube/kube-error.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { StatusWriter } from '../../../operator/operand/status-writer.ts';
import { until } from '../../ground/until.ts';
import { readiness, type OperatorGround } from './operator-ground.ts';
import { committed, StandIn } from './stand-in.ts';

const { signal } = new AbortController();

/**
 * Checks that nothing of a deleted ClusterSync is taken for one of the same name.
 * @param port - of the operator's metrics.
 */
export async function assertNamesakeBeginsAnew(
  ground: OperatorGround,
  port: number,
): Promise<void> {
  const { namespace, address } = await ground.newPlace();
  await using syncer = await StandIn.start(address, 27182, { progress: committed });
  const first = await ground.createSync(namespace);
  const set = await ground.untilMade(namespace, 'orders-syncer');
  await ground.runPod(set, address);
  await ground.untilSync(namespace, 'it is committed', ({ phase }) => phase === 'Committed');
  const metrics = async (): Promise<string> =>
    await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const series = `clustersync_condition{namespace="${namespace}",name="orders",condition="Ready"} 1`;
  await until('the metrics have it', async () => (await metrics()).includes(series));
  await ground.client.delete(clusterSyncs, first.metadata, { signal });
  await until('the metrics are gone', async () => !(await metrics()).includes(series));
  // No garbage collector here: the objects of the first one are still there, and not the namesake's. With the same destination it
  // would wait until they are gone.
  await ground.createSync(namespace, await ground.newDestination(namespace, 'other-uri'));
  // What is written of the first at this moment is not the namesake's, either.
  const writer = new StatusWriter(ground.client, clusterSyncs, () => true);
  await assert.rejects(writer.write(first, { phase: 'Committed' }, signal), isConflict);
  await ground.untilSync(
    namespace,
    'the conflict is told',
    (status) => readiness(status) === 'False NameConflict',
  );
  // Of what the first one had, the pod is the last to go: what it says is not of the namesake.
  for (const resource of [statefulSets, services, networkPolicies]) {
    await ground.client.delete<KubeObject>(resource, set.metadata, { signal });
  }
  await ground.untilSync(
    namespace,
    'the pod is missed',
    (status) => readiness(status) === 'False PodPending',
  );
  assert.deepEqual(syncer.commandNames, []);
}
