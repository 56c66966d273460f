import assert from 'node:assert/strict';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import {
  leases,
  pods,
  secrets,
  statefulSets,
  type Lease,
} from '../../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { until } from '../../ground/until.ts';
import { uriData } from './custom-resources.ts';
import { OperatorGround, readiness, RunningOperator } from './operator-ground.ts';
import { applying, committed, idle, StandIn } from './stand-in.ts';

const signal = new AbortController().signal;

describe('the life cycle of a ClusterSync, on a real API server', () => {
  let ground: OperatorGround;
  let client: KubeClient;
  let operator: RunningOperator;

  before(async () => {
    ground = await OperatorGround.start();
    ({ client } = ground);
    operator = await RunningOperator.start(ground.kubeconfig);
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    await ground[Symbol.asyncDispose]();
  });

  /** Leases of the ClusterSyncs of a namespace. */
  async function claimsOf(namespace: string): Promise<readonly Lease[]> {
    const { items } = await client.list(leases, { namespace: 'default', signal });
    return items.filter(({ spec }) => spec?.holderIdentity?.startsWith(`${namespace}/`));
  }

  async function deletePod(namespace: string): Promise<void> {
    const pod = { namespace, name: 'orders-syncer-0' };
    await client.delete(pods, pod, { signal, gracePeriodSeconds: 0 });
  }

  it('has one sync at a time to a destination, no matter which comes first and how it is written', async () => {
    const { namespace, address } = await ground.newPlace();
    const other = await ground.newPlace();
    await using syncer = await StandIn.start(address, 27182, { progress: applying });
    const first = await ground.createSync(namespace);
    const set = await ground.untilMade(namespace, 'orders-syncer');
    await ground.runPod(set, address);
    await ground.untilSync(namespace, 'in sync', (status) => readiness(status) === 'True InSync');

    const uri = `mongodb://me:secret@10.9.8.7,${namespace.toUpperCase()}.new-uri.test:27017/?tls=true`;
    const data = uriData(uri);
    await client.patch(
      secrets,
      { namespace: other.namespace, name: 'new-uri' },
      { data },
      { signal },
    );
    await ground.createSync(other.namespace);
    const waiting = await ground.untilSync(
      other.namespace,
      'it waits',
      (status) => readiness(status) === 'False DestinationInUse',
    );
    const message = findCondition(waiting.conditions, 'Ready')?.message ?? '';
    assert.ok(message.includes(`${namespace}.new-uri.test:27017`), message);
    assert.match(message, /belongs to a ClusterSync of another namespace:/);
    assert.ok(!message.includes(`${namespace}/orders`), message);
    const nothingBegun = async (): Promise<void> => {
      assert.equal(await ground.get(statefulSets, other.namespace, 'orders-syncer'), undefined);
    };
    await nothingBegun();

    // Another operator finds the same.
    await operator[Symbol.asyncDispose]();
    operator = await RunningOperator.start(ground.kubeconfig);
    await operator.passes(2);

    assert.deepEqual(syncer.commandNames, []);
    // Deleted: but its pod may work on until it is gone, which is for others than the operator to see to.
    await client.delete(clusterSyncs, first.metadata, { signal });
    const collectGarbage = async (): Promise<void> => {
      await client.delete(statefulSets, { namespace, name: 'orders-syncer' }, { signal });
    };
    await collectGarbage();
    await operator.passes(3);
    await nothingBegun();
    assert.equal((await claimsOf(namespace)).length, 1);
    await deletePod(namespace);
    await until('the claim is released', async () => {
      // A pass that began before the deletion may have created it again.
      await collectGarbage();
      return (await claimsOf(namespace)).length === 0;
    });
    const next = await ground.untilMade(other.namespace, 'orders-syncer');
    assert.equal((await claimsOf(other.namespace)).length, 0, 'nothing is proven yet');
    await using played = new AsyncDisposableStack();
    played.use(await StandIn.start(other.address, 27182, { progress: applying }));
    await ground.runPod(next, other.address);
    await until('it is claimed', async () => (await claimsOf(other.namespace)).length === 2);
    assert.equal((await claimsOf(namespace)).length, 0);
    assert.deepEqual(
      (await claimsOf(other.namespace))
        .map(({ metadata }) => metadata.annotations?.['clustersync.dev/destination-host'])
        .sort(),
      ['10.9.8.7:27017', `${namespace}.new-uri.test:27017`],
    );
    assert.doesNotMatch(
      JSON.stringify(await client.list(leases, { namespace: 'default', signal })),
      /secret/,
    );
  });

  it('gives a destination back that nobody claims any more, also where no operator saw the deletion', async () => {
    const { namespace, address } = await ground.newPlace();
    await using played = new AsyncDisposableStack();
    played.use(await StandIn.start(address, 27182, { progress: applying }));
    const sync = await ground.createSync(namespace);
    const set = await ground.untilMade(namespace, 'orders-syncer');
    assert.equal((await claimsOf(namespace)).length, 0);
    await ground.runPod(set, address);
    await until('it is claimed', async () => (await claimsOf(namespace)).length === 1);
    await operator[Symbol.asyncDispose]();
    await client.delete(clusterSyncs, sync.metadata, { signal });
    await client.delete(statefulSets, set.metadata, { signal });
    await deletePod(namespace);
    operator = await RunningOperator.start(ground.kubeconfig);
    await until('it is given back', async () => (await claimsOf(namespace)).length === 0);
  });

  it('lets a namesake of a deleted sync, with the same destination, wait for what is left of that one', async () => {
    const { namespace, address } = await ground.newPlace();
    await using played = new AsyncDisposableStack();
    played.use(await StandIn.start(address, 27182, { progress: idle }));
    const first = await ground.createSync(namespace);
    await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
    await until('it is claimed', async () => (await claimsOf(namespace)).length === 1);
    const metrics = async (): Promise<string> =>
      await (await fetch(`http://127.0.0.1:${operator.port}/metrics`)).text();
    const labels = `namespace="${namespace}",name="orders"`;
    const series = [
      `clustersync_condition{${labels},condition="Ready"} 0`,
      `clustersync_not_ready_reason{${labels},reason="Starting"} 1`,
    ];
    const counted = async (): Promise<number> => {
      const text = await metrics();
      return series.filter((each) => text.includes(each)).length;
    };
    await until('the metrics have it', async () => (await counted()) === 2);
    await client.delete(clusterSyncs, first.metadata, { signal });
    await until('the metrics are gone', async () => (await counted()) === 0);
    // No garbage collector here: the objects of the first one are still there, and not the namesake's.
    await ground.createSync(namespace);
    const waiting = await ground.untilSync(
      namespace,
      'it waits for what is left',
      (status) => readiness(status) === 'False DestinationInUse',
    );
    assert.match(
      findCondition(waiting.conditions, 'Ready')?.message ?? '',
      /a previous ClusterSync/,
    );
    await client.delete(statefulSets, { namespace, name: 'orders-syncer' }, { signal });
    await deletePod(namespace);
    await ground.untilSync(
      namespace,
      'the conflict is told',
      (status) => readiness(status) === 'False NameConflict',
    );
  });

  describe('with an automatic commit', () => {
    const web = { kind: 'Deployment', name: 'web' } as const;
    const queue = { kind: 'StatefulSet', name: 'queue' } as const;
    const applications = { [web.kind]: 'deployments', [queue.kind]: 'statefulsets' } as const;
    const labels = { app: 'shop' };
    const template = {
      metadata: { labels },
      spec: { containers: [{ name: 'app', image: 'example.dev/app' }] },
    };

    function pathOf(namespace: string, { kind, name }: typeof web | typeof queue): string {
      return `/apis/apps/v1/namespaces/${namespace}/${applications[kind]}/${name}`;
    }

    async function createApplication(
      namespace: string,
      ref: typeof web | typeof queue,
      replicas: number,
    ): Promise<void> {
      const path = pathOf(namespace, ref).replace(/\/[^/]*$/, '');
      const spec = { replicas, selector: { matchLabels: labels }, template, serviceName: 'app' };
      const body = { metadata: { name: ref.name }, spec };
      await client.raw({ method: 'POST', path, body, signal });
    }

    async function sizeOf(namespace: string, ref: typeof web | typeof queue): Promise<unknown> {
      const path = `${pathOf(namespace, ref)}/scale`;
      const scale = await client.raw({ method: 'GET', path, signal });
      return (scale as { spec: { replicas?: number } }).spec.replicas ?? 0;
    }

    /** An operator is killed: there is no time for anything to be put right. */
    async function replaceOperator(): Promise<void> {
      await operator[Symbol.asyncDispose]();
      operator = await RunningOperator.start(ground.kubeconfig);
    }

    it('stops the applications, waits for their pods, and commits; another operator continues from there', async () => {
      const { namespace, address } = await ground.newPlace();
      await using syncer = await StandIn.start(address, 27182, { progress: applying });
      syncer.onCommand = () => {
        syncer.progress = { progress: committed };
      };
      await createApplication(namespace, web, 3);
      const pod = { namespace, name: 'web-1' };
      await client.create<KubeObject>(
        pods,
        { metadata: { ...pod, labels }, spec: template.spec } as never,
        { signal },
      );
      await ground.createSync(namespace, {
        commit: { mode: 'Automatic', workloads: [web, queue] },
      });
      await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
      await ground.untilSync(
        namespace,
        'an application is missed',
        (status) => readiness(status) === 'False WorkloadNotFound',
      );
      assert.equal(await sizeOf(namespace, web), 3);
      await createApplication(namespace, queue, 1);
      await ground.untilSync(namespace, 'its pod is left', ({ conditions }) =>
        (findCondition(conditions, 'Ready')?.message ?? '').includes(
          'the Deployment web still has pods',
        ),
      );
      assert.deepEqual([await sizeOf(namespace, web), await sizeOf(namespace, queue)], [0, 0]);
      await replaceOperator();
      await operator.passes(2);
      const held = await ground.untilSync(
        namespace,
        'it continues',
        ({ commit }) => commit !== undefined,
      );
      assert.deepEqual(held.commit?.workloads, [
        { ...web, replicas: 3 },
        { ...queue, replicas: 1 },
      ]);
      assert.deepEqual(syncer.commandNames, []);
      await client.delete(pods, pod, { signal, gracePeriodSeconds: 0 });
      const end = await ground.untilSync(
        namespace,
        'it is committed, and nothing is held',
        (status) => readiness(status) === 'True Committed' && status.commit === undefined,
      );
      assert.equal(end.phase, 'Committed');
      assert.deepEqual(syncer.commandNames, ['commit']);
      assert.deepEqual([await sizeOf(namespace, web), await sizeOf(namespace, queue)], [0, 0]);
      assert.equal((await claimsOf(namespace)).length, 1, 'the destination alone is claimed');
      const spec = (await ground.get(clusterSyncs, namespace, 'orders'))?.spec;
      assert.equal(spec?.state, 'Running', 'what people ask for is theirs');
    });

    it('restores the sizes of the applications if the commit does not happen, and tries again when told to', async () => {
      const { namespace, address } = await ground.newPlace();
      await using syncer = await StandIn.start(address, 27182, { progress: applying });
      await createApplication(namespace, web, 3);
      const commit = {
        mode: 'Automatic',
        workloads: [web],
        // It is missed on purpose: no longer than needed, but enough to see what is done before.
        deadlineSeconds: 30,
        workloadsAfterCommit: 'ScaleBack',
      };
      await ground.createSync(namespace, { commit });
      const lagging = (lagTimeSeconds: number): void => {
        syncer.progress = { progress: { ...applying, lagTimeSeconds } };
      };
      lagging(11);
      await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
      await ground.untilSync(
        namespace,
        'the lag',
        (status) => readiness(status) === 'False WaitingForLag',
      );
      assert.equal(await sizeOf(namespace, web), 3);
      const pod = { namespace, name: 'web-1' };
      await client.create<KubeObject>(
        pods,
        { metadata: { ...pod, labels }, spec: template.spec } as never,
        { signal },
      );
      lagging(2);
      // Its pod does not end.
      const { commit: held } = await ground.untilSync(
        namespace,
        'it is stopped',
        (status) => status.commit?.workloads !== undefined,
      );
      assert.deepEqual(held?.workloads, [{ ...web, replicas: 3 }]);
      await until('it is to have no pods', async () => (await sizeOf(namespace, web)) === 0);
      const missed = await ground.untilSync(
        namespace,
        'the deadline',
        (status) => readiness(status) === 'False CommitDeadlineMissed' && !status.commit?.workloads,
      );
      assert.equal(missed.phase, 'Stalled');
      assert.equal(await sizeOf(namespace, web), 3);
      assert.ok(Date.now() >= Date.parse(held.deadline ?? ''), 'not before its time');
      lagging(3);
      await ground.untilSync(namespace, 'another pass', (status) => status.lagTimeSeconds === 3);
      assert.equal(await sizeOf(namespace, web), 3);

      syncer.onCommand = () => {
        syncer.progress = { progress: committed };
      };
      assert.deepEqual(syncer.commandNames, []);
      await client.delete(pods, pod, { signal, gracePeriodSeconds: 0 });
      await ground.patchSync(namespace, { commit: { attempt: '2', deadlineSeconds: 300 } });
      await ground.untilSync(
        namespace,
        'it is committed, and nothing is held',
        (status) => readiness(status) === 'True Committed' && status.commit === undefined,
      );
      assert.equal(await sizeOf(namespace, web), 3);
      assert.deepEqual(syncer.commandNames, ['commit']);
    });

    it('gives them back when it is deleted, also where no operator saw that', async () => {
      const { namespace, address } = await ground.newPlace();
      await using syncer = await StandIn.start(address, 27182, { progress: applying });
      await createApplication(namespace, queue, 2);
      const pod = { namespace, name: 'queue-0' };
      await client.create<KubeObject>(
        pods,
        { metadata: { ...pod, labels }, spec: template.spec } as never,
        { signal },
      );
      const commit = { mode: 'Automatic', workloads: [queue] };
      const sync = await ground.createSync(namespace, { commit });
      await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
      await until('it is stopped', async () => (await sizeOf(namespace, queue)) === 0);
      await operator[Symbol.asyncDispose]();
      await client.delete(clusterSyncs, sync.metadata, { signal });
      operator = await RunningOperator.start(ground.kubeconfig);
      await until('it has its size', async () => (await sizeOf(namespace, queue)) === 2);
      await until('nothing is held', async () => (await claimsOf(namespace)).length === 1);
      assert.deepEqual(syncer.commandNames, []);
    });

    it('gives them back after a commit was sent, and it is deleted, when nothing can carry that out any more', async () => {
      const { namespace, address } = await ground.newPlace();
      await using syncer = await StandIn.start(address, 27182, { progress: applying });
      // As good as no answer: it may have been taken.
      const errorDescription = 'it is not known what has become of it';
      const error = 'ClusterUnreachable';
      syncer.refusals.set('commit', { success: false, error, errorDescription });
      await createApplication(namespace, web, 2);
      const commit = { mode: 'Automatic', workloads: [web] };
      const sync = await ground.createSync(namespace, { commit });
      const set = await ground.untilMade(namespace, 'orders-syncer');
      await ground.runPod(set, address);
      await until('the commit is sent', () => syncer.commandNames.includes('commit'));
      await client.delete(clusterSyncs, sync.metadata, { signal });
      await operator.passes(3);
      assert.equal(await sizeOf(namespace, web), 0);
      await client.delete(statefulSets, set.metadata, { signal });
      await operator.passes(3);
      assert.equal(await sizeOf(namespace, web), 0, 'its pod is still there');
      const pod = { namespace, name: 'orders-syncer-0' };
      await client.delete(pods, pod, { signal, gracePeriodSeconds: 0 });
      await until('it has its size', async () => (await sizeOf(namespace, web)) === 2);
    });
  });
});
