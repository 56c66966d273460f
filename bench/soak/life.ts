import assert from 'node:assert/strict';
import { uriData } from '../../e2e/integration/operator/custom-resources.ts';
import { clusterSyncs } from '../../operator/api/clustersync.ts';
import {
  networkPolicies,
  pods,
  secrets,
  services,
  statefulSets,
  type StatefulSet,
} from '../../operator/kube/builtin-resources.ts';
import { isControlledBy } from '../../operator/kube/owner.ts';
import type { KubeObject, Resource } from '../../operator/kube/resource.ts';
import { until } from '../../e2e/ground/until.ts';
import type { SyncTools } from '../../e2e/ground/sync-tool/sync-tools.ts';
import {
  readiness,
  type OperatorGround,
  type Place,
} from '../../e2e/integration/operator/operator-ground.ts';

const { signal } = new AbortController();
let lives = 0;

/** The life of one ClusterSync, from its creation through everything that can happen to it to its deletion. */
export async function liveThrough(
  ground: OperatorGround,
  tools: SyncTools,
  { namespace, address }: Place,
): Promise<void> {
  lives += 1;
  const life = String(lives);
  // Anything that is kept of deleted ones adds up.
  const name = `orders-${life}`;
  tools.forget(address);
  const reach = async (expected: string): Promise<void> => {
    await ground.untilSync(namespace, expected, (status) => readiness(status) === expected, {
      name,
    });
  };
  const sync = await ground.createSync(namespace, {}, name);
  let set: StatefulSet | undefined;
  await until('its StatefulSet is made', async () => {
    set = await ground.get(statefulSets, namespace, `${name}-syncer`);
    return set !== undefined && isControlledBy(set, sync);
  });
  assert.ok(set);
  await ground.runPod(set, address, { containerID: `test://${life}` });
  await reach('True InSync');
  // A process that dies, and its replacement.
  await ground.runPod(set, address, { containerID: `test://${life}/again` });
  await ground.patchSync(namespace, { state: 'Paused' }, name);
  await reach('True Paused');
  const data = uriData(`mongodb://user:${life}@${namespace}.new-uri/`);
  await ground.client.patch(secrets, { namespace, name: 'new-uri' }, { data }, { signal });
  await remove(ground, pods, namespace, `${name}-syncer-0`);
  await ground.runPod(set, address, { containerID: `test://${life}/again` });
  await ground.patchSync(namespace, { state: 'Running' }, name);
  await reach('True InSync');
  await ground.patchSync(namespace, { state: 'Committed' }, name);
  await reach('True Committed');
  await remove(ground, clusterSyncs, namespace, name);
  await remove(ground, pods, namespace, `${name}-syncer-0`);
}

async function remove<T extends KubeObject>(
  { client }: OperatorGround,
  resource: Resource<T>,
  namespace: string,
  name: string,
): Promise<void> {
  await client.delete(resource, { namespace, name }, { signal, gracePeriodSeconds: 0 });
}

const owned: readonly Resource<KubeObject>[] = [statefulSets, services, networkPolicies];

/** Deletes the objects whose owner is gone, as Kubernetes would. */
export async function collectGarbage({ client }: OperatorGround): Promise<void> {
  for (const resource of owned) {
    const { items } = await client.list(resource, { signal });
    const syncs = await client.list(clusterSyncs, { signal });
    const owners = new Set(syncs.items.map(({ metadata }) => metadata.uid));
    for (const { metadata } of items) {
      const [owner] = metadata.ownerReferences ?? [];
      if (owner && !owners.has(owner.uid)) await client.delete(resource, metadata, { signal });
    }
  }
}
