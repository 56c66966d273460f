import assert from 'node:assert/strict';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import {
  networkPolicies,
  services,
  statefulSets,
} from '../../../operator/kube/builtin-resources.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { until } from '../../ground/until.ts';
import { readiness, type OperatorGround } from './operator-ground.ts';
import { applying, StandIn } from './stand-in.ts';

const { signal } = new AbortController();

/** Checks that nothing is kept only in the status: after somebody has deleted it, it is derived from the current state. */
export async function assertStatusIsMadeAnew(ground: OperatorGround): Promise<void> {
  const { namespace, address } = await ground.newPlace();
  await using syncer = await StandIn.start(address, 27182, { progress: applying });
  const { metadata } = await ground.createSync(namespace);
  await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
  const isInSync = (status: Parameters<typeof readiness>[0]): boolean =>
    readiness(status) === 'True InSync';
  const before = await ground.untilSync(namespace, 'changes are applied', isInSync);
  const { status } = await ground.client.patch(
    clusterSyncs,
    metadata,
    { status: null },
    { signal, subresource: 'status' },
  );
  assert.equal(status, undefined);
  // Changes the spec, so that it is reconciled now.
  await ground.patchSync(namespace, { commit: { maxLagSeconds: 11 } });
  const after = await ground.untilSync(namespace, 'it has all of its status again', isInSync);
  for (const field of [
    'phase',
    'source',
    'instances',
    'totals',
    'canCommit',
    'readyInstances',
  ] as const)
    assert.deepEqual(after[field], before[field], field);
  assert.deepEqual(syncer.commandNames, []);
}

/**
 * Checks that what the operator has made is as it should be again, whatever somebody does to it, and that it is counted.
 * @param port - of the operator's metrics. It has corrected nothing yet.
 */
export async function assertIsPutRight(ground: OperatorGround, port: number): Promise<void> {
  const { namespace } = await ground.newPlace();
  await ground.createSync(namespace);
  const { metadata } = await ground.untilMade(namespace, 'orders-syncer');
  await ground.client.patch(statefulSets, metadata, { spec: { replicas: 3 } }, { signal });
  await until(
    'replicas are right',
    async () => (await ground.get(statefulSets, namespace, 'orders-syncer'))?.spec?.replicas === 1,
  );
  for (const resource of [services, networkPolicies] as const) {
    await ground.client.delete<KubeObject>(resource, metadata, { signal });
    await until(
      `the ${resource.kind} is there again`,
      async () =>
        (await ground.get<KubeObject>(resource, namespace, 'orders-syncer')) !== undefined,
    );
  }
  const kinds = ['StatefulSet', 'Service', 'NetworkPolicy'];
  await until('all of it is counted', async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return kinds.every((kind) =>
      metrics.includes(`\nclustersync_operator_corrections_total{kind="${kind}"} 1\n`),
    );
  });
}
