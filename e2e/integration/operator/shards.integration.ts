import assert from 'node:assert/strict';
import {
  events,
  statefulSets,
  type StatefulSet,
} from '../../../operator/kube/builtin-resources.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import { createGuardedFolder } from '../../ground/guarded-folder.ts';
import { startMongod } from '../../ground/mongod/mongod-process.ts';
import { testPassword } from '../../ground/mongod/users.ts';
import { useShardedCluster } from '../../ground/sharded/use-sharded-cluster.ts';
import { until } from '../../ground/until.ts';
import { OperatorGround, readiness, RunningOperator } from './operator-ground.ts';
import { PodProcess } from './pod-process.ts';
import { applying, committed, copying, idle, StandIn, topologyOf } from './stand-in.ts';
import { ids, startTwoInstances, untilToldBy } from './two-instances.ts';

const signal = new AbortController().signal;
const port = 27182;

describe('the operator with a sharded source, on a real API server', () => {
  const source = useShardedCluster({ shards: 2, syncerRoles: 'source' });
  let ground: OperatorGround;
  let operator: RunningOperator;

  before(async () => {
    ground = await OperatorGround.start();
    operator = await RunningOperator.start(ground.kubeconfig);
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    await ground[Symbol.asyncDispose]();
  });

  async function restartOperator(): Promise<void> {
    await operator[Symbol.asyncDispose]();
    operator = await RunningOperator.start(ground.kubeconfig);
  }

  it('brings all instances of a sync from its creation to its commit', async () => {
    const { namespace, address } = await ground.newPlace(source.cluster.uri('syncer'));
    const addresses = [
      address,
      await ground.reserveAddress(),
      await ground.reserveAddress(),
    ] as const;
    await ground.createSync(namespace);

    // The first pod reports what the source is, and receives no command.
    const begun = await ground.untilMade(namespace, 'orders-syncer');
    assert.equal(begun.spec?.replicas, 1);
    const syncer = await PodProcess.start(ground.client, begun, address);
    let set: StatefulSet;
    try {
      set = await untilToldBy(ground, namespace, address);
    } finally {
      await syncer[Symbol.asyncDispose]();
    }
    await using first = await StandIn.start(addresses[0], port, { progress: idle });
    first.answers.set('topology', topologyOf(...ids));

    // What it makes.
    assert.equal(set.spec?.replicas, 2);
    assert.equal(set.spec.podManagementPolicy, 'Parallel');
    const [container] = set.spec.template.spec?.containers ?? [];
    assert.ok(container);
    assert.ok(container.args?.includes(`--ids=${ids.join()}`), String(container.args));
    const environment = new Map(container.env?.map((variable) => [variable.name, variable]));
    assert.deepEqual([...environment.keys()].sort(), [
      'CLUSTERSYNC_CONNECTION_FILES',
      'CLUSTERSYNC_INSTANCE',
    ]);
    assert.equal(environment.get('CLUSTERSYNC_CONNECTION_FILES')?.value, 'refuse');
    const index = environment.get('CLUSTERSYNC_INSTANCE')?.valueFrom?.fieldRef?.fieldPath;
    assert.match(index ?? '', /pod-index/);
    assert.doesNotMatch(JSON.stringify(set), new RegExp(encodeURIComponent(testPassword)));

    // start: not before both are there; then to both, the same.
    await ground.runPod(set, addresses[0]);
    await until('the first is asked twice', () => first.polls >= 2);
    const alone = await ground.untilSync(
      namespace,
      'the second is missed',
      (status) => readiness(status) === 'False PodPending' && status.readyInstances === '1/2',
    );
    assert.match(findCondition(alone.conditions, 'Ready')?.message ?? '', /orders-syncer-1/);
    assert.deepEqual(alone.source, { kind: 'Sharded', shards: [...ids] });
    assert.deepEqual(first.commands, []);
    {
      await using second = await StandIn.start(addresses[1], port, { progress: idle });
      second.refusals.set('start', {
        success: false,
        error: 'ClusterUnreachable',
        errorDescription: 'no primary',
      });
      first.onCommand = () => {
        first.progress = { progress: { ...copying, syncerID: ids[0] } };
      };
      second.onCommand = () => {
        second.progress = { progress: { ...copying, syncerID: ids[1] } };
      };
      await ground.runPod(set, addresses[1], { index: 1 });
      const refused = await ground.untilSync(
        namespace,
        'one refuses to start',
        (status) => readiness(status) === 'False ClusterUnreachable',
      );
      assert.equal(refused.phase, 'Starting');
      assert.match(
        findCondition(refused.conditions, 'Ready')?.message ?? '',
        /shard-1 refuses start/,
      );
      second.refusals.clear();
      const copy = await ground.untilSync(
        namespace,
        'both copy',
        ({ phase }) => phase === 'InitialCopy',
      );
      assert.deepEqual(copy.totals, {
        estimatedTotalBytes: 1000,
        estimatedCopiedBytes: 500,
        percent: 50,
      });
      assert.deepEqual(first.commandNames, ['start']);
      assert.ok(second.commands.length >= 2);
      for (const command of second.commands) assert.deepEqual(command, first.commands[0]);

      // changes
      first.progress = { progress: { ...applying, syncerID: ids[0], coordinatorID: ids[0] } };
      const behind = await ground.untilSync(
        namespace,
        'one is further',
        ({ coordinatorID }) => coordinatorID === ids[0],
      );
      assert.equal(behind.phase, 'InitialCopy');
      assert.equal(behind.canCommit, false);
      assert.match(
        findCondition(behind.conditions, 'Ready')?.message ?? '',
        /waiting for shard-1$/,
      );
      second.progress = {
        progress: { ...applying, syncerID: ids[1], coordinatorID: ids[0], lagTimeSeconds: 7 },
      };
      const inSync = await ground.untilSync(
        namespace,
        'both are in sync',
        (status) => readiness(status) === 'True InSync' && status.lagTimeSeconds === 7,
      );
      assert.equal(inSync.canCommit, true);
      const columns = await ground.kubectl('get', 'csync', '--namespace', namespace, '-o', 'wide');
      assert.match(columns, /INSTANCES +COORDINATOR/);
      assert.match(
        columns,
        /orders +Running +ChangeApplication +100 +7 +Unknown +True .* 2\/2 +shard-0/,
      );

      // commit: one takes it, the other one refuses it and is killed.
      second.refusals.set('commit', { success: false, error: 'CannotCommitYet' });
      first.onCommand = () => {
        first.progress = { progress: { ...applying, state: 'COMMITTING', canCommit: false } };
      };
      await ground.patchSync(namespace, { state: 'Committed' });
      await until('the second has refused', () => second.commandNames.includes('commit'));
    }
    const catchingUp = { ...applying, canCommit: false, syncerID: ids[1], coordinatorID: ids[0] };
    await using again = await StandIn.start(addresses[2], port, { progress: catchingUp });
    again.onCommand = () => {
      again.progress = { progress: { ...committed, syncerID: ids[1] } };
      first.progress = { progress: { ...committed, syncerID: ids[0], coordinatorID: ids[0] } };
    };
    await ground.runPod(set, addresses[2], { index: 1, containerID: 'test://2' });
    const end = await ground.untilSync(
      namespace,
      'the end',
      (status) => readiness(status) === 'True Committed',
    );
    assert.equal(end.canWrite, true);
    assert.deepEqual(first.commandNames, ['start', 'commit']);
    assert.deepEqual(again.commandNames, ['commit']);
    assert.deepEqual(again.commands[0], first.commands[1]);
  });

  it('pauses one later that could not be reached', async () => {
    const progress = { progress: applying };
    await using sync = await startTwoInstances(ground, {}, progress, progress);
    const { namespace, set, first, second } = sync;
    await ground.untilSync(namespace, 'in sync', (status) => readiness(status) === 'True InSync');
    const paused = { progress: { ...applying, state: 'PAUSED', canCommit: false } };
    for (const syncer of [first, second]) {
      syncer.onCommand = () => {
        syncer.progress = paused;
      };
    }
    // A pod that is being replaced. Pods and syncs are watched apart: of the pod it is to know first.
    await ground.runPod(set, await ground.reserveAddress(), { index: 1, containerID: 'test://2' });
    await ground.untilSync(
      namespace,
      'the second is missed',
      (status) => readiness(status) !== 'True InSync',
    );
    await ground.patchSync(namespace, { state: 'Paused' });
    await until('the first is paused', () => first.commandNames.includes('pause'));
    const some = await ground.untilSync(
      namespace,
      'it is being paused',
      ({ instances = [] }) =>
        instances.find(({ id }) => id === ids[0])?.progress?.['state'] === 'PAUSED',
    );
    assert.notEqual(readiness(some), 'True Paused');
    assert.deepEqual(second.commandNames, []);
    const address = await ground.reserveAddress();
    await using again = await StandIn.start(address, port, progress);
    again.onCommand = () => {
      again.progress = paused;
    };
    await ground.runPod(set, address, { index: 1, containerID: 'test://3' });
    await ground.untilSync(namespace, 'paused', (status) => readiness(status) === 'True Paused');
    assert.deepEqual(first.commandNames, ['pause']);
    assert.deepEqual(again.commandNames, ['pause']);
  });

  it('says what is wrong with a source, by its text or by what the first pod tells, and makes no others', async () => {
    await using folder = await createGuardedFolder();
    const args = ['--bind_ip', '127.0.0.1', '--nounixsocket'];
    const standalone = await startMongod({
      side: 'source',
      folder,
      name: 'standalone',
      args,
      signal,
    });
    const right = source.cluster.uri('syncer');
    const wrong = new URL(right);
    wrong.password = 'not-the-password';
    const notAllowed = source.cluster.uri('app');
    const asked = [
      [wrong.href, 'False AuthenticationFailed', 'Stalled'],
      [notAllowed, 'False PreconditionFailed', 'Stalled'],
      ['mongodb://user:not-the-password@127.0.0.1:1/', 'False ClusterUnreachable', 'Starting'],
      [`mongodb://127.0.0.1:${standalone.port}/`, 'False InvalidConfiguration', 'Stalled'],
    ] as const;
    const refused = [
      [`${right}?tls=true&tlsCAFile=/nowhere/ca.pem`, 'False InvalidConfiguration', 'Stalled'],
      [`${right}?tls=true&tlsCAFile=/dev/zero`, 'False InvalidConfiguration', 'Stalled'],
      [`${right}?authMechanism=MONGODB-OIDC`, 'False InvalidConfiguration', 'Stalled'],
      ['user:not-the-password@host', 'False InvalidConfiguration', 'Stalled'],
    ] as const;
    await Promise.all(
      [...asked, ...refused].map(async ([uri, expected, phase], index) => {
        const { namespace, address } = await ground.newPlace(uri);
        await ground.createSync(namespace);
        await using stack = new AsyncDisposableStack();
        if (index < asked.length) {
          const set = await ground.untilMade(namespace, 'orders-syncer');
          stack.use(await PodProcess.start(ground.client, set, address));
          await ground.runPod(set, address);
        }
        const status = await ground.untilSync(
          namespace,
          expected,
          (now) => readiness(now) === expected,
        );
        assert.equal(status.phase, phase);
        assert.equal(status.source, undefined);
        const set = await ground.get(statefulSets, namespace, 'orders-syncer');
        assert.equal(set?.spec?.replicas, index < asked.length ? 1 : undefined);
        await until('there is an event', async () => {
          const { items } = await ground.client.list(events, { namespace, signal });
          assert.doesNotMatch(JSON.stringify([status, items]), /not-the-password/);
          return items.some(
            ({ type, reason }) => type === 'Warning' && expected.endsWith(` ${reason ?? ''}`),
          );
        });
      }),
    );
  });

  it('changes no pods when the source is away or has another shard, and commits neither way', async () => {
    const progress = { progress: applying };
    await using sync = await startTwoInstances(ground, {}, progress, progress);
    const { namespace, first, second } = sync;
    const version = async () =>
      (await ground.get(statefulSets, namespace, 'orders-syncer'))?.metadata.resourceVersion;
    for (const syncer of [first, second]) {
      syncer.onCommand = () => {
        syncer.progress = { progress: committed };
      };
    }
    await ground.untilSync(namespace, 'in sync', (status) => readiness(status) === 'True InSync');
    const before = await version();

    const away = { success: false, error: 'ClusterUnreachable', errorDescription: 'no router' };
    for (const syncer of [first, second]) syncer.answers.set('topology', away);
    await restartOperator();
    await ground.patchSync(namespace, { state: 'Committed' });
    const status = await ground.untilSync(
      namespace,
      'the commit waits',
      (now) => readiness(now) === 'False WaitingForCanCommit',
    );
    assert.match(
      findCondition(status.conditions, 'Ready')?.message ?? '',
      /its shards are unchanged/,
    );
    assert.deepEqual(status.source, { kind: 'Sharded', shards: [...ids] });

    // One that runs would ask again, and may commit before the shard is there.
    await operator[Symbol.asyncDispose]();
    for (const syncer of [first, second])
      syncer.answers.set('topology', topologyOf(...ids, 'shard-2'));
    operator = await RunningOperator.start(ground.kubeconfig);
    const stalled = await ground.untilSync(
      namespace,
      'the shard is noticed',
      (now) => readiness(now) === 'False ShardsChanged',
    );
    assert.equal(stalled.phase, 'Stalled');
    assert.match(findCondition(stalled.conditions, 'Stalled')?.message ?? '', /added: shard-2/);
    assert.equal(await version(), before);
    assert.deepEqual([...first.commandNames, ...second.commandNames], []);

    for (const syncer of [first, second]) syncer.answers.set('topology', topologyOf(...ids));
    await restartOperator();
    await ground.untilSync(namespace, 'the end', (now) => readiness(now) === 'True Committed');
    assert.deepEqual([first.commandNames, second.commandNames], [['commit'], ['commit']]);
    assert.equal(await version(), before);
  });
});
