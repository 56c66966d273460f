import assert from 'node:assert/strict';
import { KubeConfig } from '@kubernetes/client-node';
import { Registry } from 'prom-client';
import { createLogger } from '../../service/logger.ts';
import type { Pod, StatefulSet } from '../kube/builtin-resources.ts';
import { KubeClient } from '../kube/client.ts';
import { KubeMetrics } from '../kube/metrics.ts';
import { controllerReference } from '../kube/owner.ts';
import { objectKey, type KubeObject } from '../kube/resource.ts';
import type { ObjectLookup } from './object-cache.ts';
import { OperandStore } from './operand-store.ts';
import { TokenKey } from './token-key.ts';

const name = 'orders-syncer';

/** There is no API server: it must not be asked. */
const config = new KubeConfig();
config.loadFromClusterAndUser(
  { name: 'nowhere', server: 'https://127.0.0.1:1', skipTLSVerify: false },
  { name: 'nobody' },
);
const nobody = new KubeClient(config, new KubeMetrics(new Registry()));
const tokenKey = new TokenKey(nobody, { name: 'key' }, createLogger('operator', 'fatal'));

function clusterSync(uid: string): KubeObject {
  const metadata = { namespace: 'shop', name: 'orders', uid };
  return { apiVersion: 'clustersync.dev/v1alpha1', kind: 'ClusterSync', metadata };
}

const owner = clusterSync('own');

function setOf(controller: KubeObject | undefined, uid = 'set'): StatefulSet {
  const ownerReferences = controller ? [controllerReference(controller)] : [];
  const metadata = { namespace: 'shop', name, uid, ownerReferences };
  const spec = { replicas: 1, selector: {}, template: {}, serviceName: name };
  return { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata, spec };
}

function podOf(set: StatefulSet | undefined): Pod {
  const ownerReferences = set ? [controllerReference(set)] : [];
  const metadata = { namespace: 'shop', name: `${name}-0`, ownerReferences };
  return { apiVersion: 'v1', kind: 'Pod', metadata };
}

function lookupOf<T extends KubeObject>(...objects: readonly T[]): ObjectLookup<T> {
  return {
    get: (key) => objects.find(({ metadata }) => objectKey(metadata) === key),
    list: () => [...objects],
  };
}

/** A store that only reads its caches. */
function storeWith(set: StatefulSet, pod: Pod): OperandStore {
  const caches = {
    statefulSets: lookupOf(set),
    pods: lookupOf(pod),
    services: lookupOf<KubeObject>(),
    networkPolicies: lookupOf<KubeObject>(),
  };
  return new OperandStore(nobody, caches, tokenKey, () => undefined);
}

describe('OperandStore', () => {
  it('takes a StatefulSet that its resource controls, and none of a namesake or of nobody', () => {
    const own = setOf(owner);
    assert.equal(storeWith(own, podOf(own)).statefulSet(owner, name), own);
    for (const foreign of [setOf(undefined), setOf(clusterSync('former'))])
      assert.equal(storeWith(foreign, podOf(foreign)).statefulSet(owner, name), undefined);
  });

  it('takes a pod that such a StatefulSet has made, and none of another one or of nobody', () => {
    const own = setOf(owner);
    const pods = (set: StatefulSet, pod: Pod): readonly string[] => [
      ...storeWith(set, pod)
        .pods(owner, [`${name}-0`])
        .keys(),
    ];
    assert.deepEqual(pods(own, podOf(own)), [`${name}-0`]);
    assert.deepEqual(pods(own, podOf(setOf(owner, 'former'))), []);
    const foreign = setOf(clusterSync('former'));
    assert.deepEqual(pods(foreign, podOf(foreign)), []);
  });
});
