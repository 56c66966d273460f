import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { pods, statefulSets } from '../../../operator/kube/builtin-resources.ts';
import { KubeError } from '../../../operator/kube/kube-error.ts';
import { assertEqualClusters } from '../../ground/compare.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';
import { OperatorGround, readiness, RunningOperator } from './operator-ground.ts';
import { PodProcess } from './pod-process.ts';

const signal = new AbortController().signal;

describe('spec.syncer.instances, on a real API server with real syncers', () => {
  let ground: OperatorGround;
  let operator: RunningOperator;
  let sets: readonly ReplicaSet[] = [];

  before(async () => {
    [ground, ...sets] = await Promise.all([
      OperatorGround.start(),
      startReplicaSet({ members: 1, name: 'source', syncerRoles: 'source' }),
      startReplicaSet({ members: 1, name: 'destination', syncerRoles: 'destination' }),
    ]);
    operator = await RunningOperator.start(ground.kubeconfig);
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    for (const set of sets) await set.stop();
    await ground[Symbol.asyncDispose]();
  });

  it('has as many pods sync a replica set, which ends equal; and it stays as it is', async () => {
    const [from, to] = sets;
    assert.ok(from && to);
    await using source = new MongoClient(from.uri('admin'));
    const items = source.db('shop').collection('items');
    await items.insertMany(Array.from({ length: 2_000 }, (_, n) => ({ n, text: 'x'.repeat(100) })));
    const { namespace, address } = await ground.newPlace(from.uri('syncer'), to.uri('syncer'));
    const other = await ground.reserveAddress();
    await ground.createSync(namespace, { syncer: { instances: 2 } });

    // One pod tells that the source is a replica set, and is replaced by two.
    const alone = await ground.untilMade(namespace, 'orders-syncer');
    assert.equal(alone.spec?.replicas, 1);
    {
      await using first = await PodProcess.start(ground.client, alone, address);
      await ground.runPod(alone, address);
      await until('there are to be two', async () => {
        const set = await ground.get(statefulSets, namespace, 'orders-syncer');
        return set?.spec?.replicas === 2;
      });
      await first.end();
    }
    const now = { signal, gracePeriodSeconds: 0 };
    await ground.client.delete(pods, { namespace, name: 'orders-syncer-0' }, now);
    const set = await ground.untilMade(namespace, 'orders-syncer');
    const args = set.spec?.template.spec?.containers[0]?.args ?? [];
    assert.ok(args.includes('--ids=old-0,old-1'), args.join(' '));
    await using stack = new AsyncDisposableStack();
    for (const [index, each] of [address, other].entries()) {
      stack.use(await PodProcess.start(ground.client, set, each, {}, index));
      await ground.runPod(set, each, { index, containerID: `test://two-${index}` });
    }
    const inSync = await ground.untilSync(
      namespace,
      'in sync',
      (status) => readiness(status) === 'True InSync',
    );
    assert.equal(inSync.readyInstances, '2/2');
    assert.equal(inSync.totals?.percent, 100);
    assert.deepEqual(
      inSync.instances?.map(({ id, pod }) => [id, pod]),
      [
        ['old-0', 'orders-syncer-0'],
        ['old-1', 'orders-syncer-1'],
      ],
    );
    assert.ok(['old-0', 'old-1'].includes(inSync.coordinatorID ?? ''), inSync.coordinatorID);

    for (const instances of [3, null])
      await assert.rejects(
        ground.patchSync(namespace, { syncer: { instances } }),
        (error: unknown) =>
          error instanceof KubeError && error.message.includes('instances cannot be changed'),
      );
    await items.insertMany(Array.from({ length: 500 }, (_, n) => ({ n })));
    await ground.patchSync(namespace, { state: 'Committed' });
    const end = await ground.untilSync(
      namespace,
      'committed',
      (status) => readiness(status) === 'True Committed',
    );
    for (const { progress } of end.instances ?? [])
      assert.ok(Number(progress?.['totalEventsApplied']) > 150, JSON.stringify(progress));
    await assertEqualClusters(from.uri('admin'), to.uri('admin'));
  });
});
