import assert from 'node:assert/strict';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import { leases } from '../../../operator/kube/builtin-resources.ts';
import { ApiProxy } from '../../ground/kubernetes/api-proxy.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';
import { OperatorGround, readiness, RunningOperator } from './operator-ground.ts';
import { patientCommit, PlayedApplication } from './played-application.ts';
import { PodProcess } from './pod-process.ts';

const signal = new AbortController().signal;

describe('a ClusterSync that is deleted as soon as it is committed', () => {
  let ground: OperatorGround;
  let sets: readonly ReplicaSet[] = [];

  before(async () => {
    ground = await OperatorGround.start();
    await ground.server.startGarbageCollector();
    sets = await Promise.all(
      ['source', 'destination'].map(async (name) => await startReplicaSet({ members: 1, name })),
    );
  });

  after(async () => {
    for (const set of sets) await set.stop();
    await ground[Symbol.asyncDispose]();
  });

  async function holds(): Promise<number> {
    const { items } = await ground.client.list(leases, { namespace: 'default', signal });
    return items.filter(({ metadata }) => metadata.name.startsWith('clustersync-hold-')).length;
  }

  it('leaves its application at zero, which would write to the old deployment', async () => {
    await using stack = new AsyncDisposableStack();
    const [source = '', destination = ''] = sets.map((set) => set.uri('syncer'));
    const { namespace, address } = await ground.newPlace(source, destination);
    const { client } = ground;
    const proxy = stack.use(await ApiProxy.start(ground.server));
    let refused = 0;
    let isRefused = true;
    proxy.judge = ({ method, path, body }) => {
      if (!path.includes('/clustersync-hold-')) return undefined;
      // What the workloads had is not forgotten before the deletion: the operator is always in between.
      if (method === 'DELETE') return { kind: 'kept' };
      if (!isRefused || !body.includes('afterCommit')) return undefined;
      refused += 1;
      return { kind: 'kept', answer: { code: 500, reason: 'InternalError', message: 'refused' } };
    };
    const first = stack.use(
      await RunningOperator.start(await ground.server.writeKubeConfig(proxy.port)),
    );
    const uri = sets[0]?.uri('admin') ?? '';
    const application = stack.use(await PlayedApplication.start(client, namespace, uri));
    const { metadata } = await ground.createSync(namespace, { commit: patientCommit });
    const set = await ground.untilMade(namespace, 'orders-syncer');
    stack.use(await PodProcess.start(client, set, address));
    await ground.runPod(set, address);
    await until('what comes after the commit could not be recorded', () => refused >= 3);
    const before = await ground.get(clusterSyncs, namespace, 'orders');
    assert.notEqual(readiness(before?.status), 'True Committed', 'nothing is published before');
    isRefused = false;
    await ground.untilSync(
      namespace,
      'it is committed',
      (status) => readiness(status) === 'True Committed',
    );
    assert.deepEqual([await holds(), await application.size(), application.starts], [1, 0, 1]);

    await client.delete(clusterSyncs, metadata, { signal });
    await first[Symbol.asyncDispose]();
    stack.use(await RunningOperator.start(ground.kubeconfig));
    await until('nothing is held any more', async () => (await holds()) === 0);
    assert.deepEqual([await application.size(), application.starts], [0, 1]);
  });
});
