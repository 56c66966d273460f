import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { MongoClient } from 'mongodb';
import type { ClusterSyncStatus } from '../../../operator/api/clustersync.ts';
import { events } from '../../../operator/kube/builtin-resources.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';
import { rollOver } from '../../ground/roll-over.ts';
import { OperatorGround, readiness, RunningOperator } from './operator-ground.ts';
import { PodProcess } from './pod-process.ts';
import { applying, copying, StandIn } from './stand-in.ts';
import { startTwoInstances } from './two-instances.ts';

const signal = new AbortController().signal;
const port = 27182;
const documents = 200;

describe('a repair by the operator, on a real API server', () => {
  let ground: OperatorGround;
  let operator: RunningOperator;
  let sets: readonly ReplicaSet[] = [];
  let source: MongoClient;
  let destination: MongoClient;

  before(async () => {
    [ground, ...sets] = await Promise.all([
      OperatorGround.start(),
      startReplicaSet({
        ...{ members: 1, name: 'source', syncerRoles: 'source' },
        ...{ oplogSizeMB: 1, args: ['--syncdelay', '1'] },
      }),
      startReplicaSet({ members: 1, name: 'destination', syncerRoles: 'destination' }),
    ]);
    const [from, to] = sets;
    assert.ok(from && to);
    source = new MongoClient(from.uri('admin'));
    destination = new MongoClient(to.uri('admin'));
    operator = await RunningOperator.start(ground.kubeconfig);
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    for (const client of [source, destination]) await client.close();
    for (const set of sets) await set.stop();
    await ground[Symbol.asyncDispose]();
  });

  async function restartOperator(between?: () => Promise<void> | void): Promise<void> {
    await operator[Symbol.asyncDispose]();
    await between?.();
    operator = await RunningOperator.start(ground.kubeconfig);
  }

  async function untilInSync(namespace: string): Promise<ClusterSyncStatus> {
    return await ground.untilSync(namespace, 'in sync', (now) => readiness(now) === 'True InSync');
  }

  async function untilRepair(
    namespace: string,
    wanted: NonNullable<ClusterSyncStatus['repair']>,
  ): Promise<void> {
    const { repair } = await ground.untilSync(
      namespace,
      `the repair ${wanted.token} is ${wanted.state}`,
      (now) => now.repair?.token === wanted.token && now.repair.state === wanted.state,
    );
    assert.deepEqual(repair, wanted);
  }

  async function eventsOf(namespace: string, reason: string): Promise<number> {
    const { items } = await ground.client.list(events, { namespace, signal });
    return items.filter((event) => event.reason === reason).length;
  }

  it('of real syncers: once for each token, after a lost position and after a change by others', async () => {
    const rows = Array.from({ length: documents }, (_, n) => ({ n }));
    const items = source.db('shop').collection('items');
    await items.insertMany(rows);
    const [from, to] = sets;
    assert.ok(from && to);
    const { namespace, address } = await ground.newPlace(from.uri('syncer'), to.uri('syncer'));
    const repairOf = (token: string) => ({ repair: { token } });
    await ground.createSync(namespace, {
      ...{ includeNamespaces: [{ database: 'shop' }], ...repairOf('zero') },
    });
    const set = await ground.untilMade(namespace, 'orders-syncer');
    let syncer = await PodProcess.start(ground.client, set, address);
    try {
      await ground.runPod(set, address, { containerID: 'test://1' });
      const first = await untilInSync(namespace);
      assert.deepEqual(first.repair, { token: 'zero', state: 'NotNeeded' });
      assert.equal(repairsOf(first), 0);
      const copy = destination.db('shop').collection('items');
      const [before] = await destination.db('shop').listCollections({ name: 'items' }).toArray();
      // What others have created outside the sync's filter, and what its copy lacks.
      await destination.db('mine').collection('notes').insertOne({ by: 'user' });

      await syncer.end();
      await syncer[Symbol.asyncDispose]();
      await items.deleteMany({ n: { $lt: 3 } });
      await rollOver({ client: source });
      syncer = await PodProcess.start(ground.client, set, address);
      await ground.runPod(set, address, { containerID: 'test://2' });
      const lost = await ground.untilSync(
        namespace,
        'the position is lost',
        (now) => readiness(now) === 'False OplogRolledOver',
      );
      assert.equal(lost.phase, 'Stalled');
      assert.match(findCondition(lost.conditions, 'Stalled')?.message ?? '', /spec\.repair/);
      await restartOperator(async () => {
        await ground.patchSync(namespace, repairOf('one'));
      });
      const [token, comparison] = ['one', 'Hashes'] as const;
      const formerTokens = ['zero'];
      await untilRepair(namespace, { token, comparison, state: 'Begun', formerTokens });
      assert.equal(repairsOf(await untilInSync(namespace)), 1);
      assert.equal(await copy.countDocuments(), documents - 3);
      const [after] = await destination.db('shop').listCollections({ name: 'items' }).toArray();
      assert.deepEqual(after, before);
      assert.equal(await destination.db('mine').collection('notes').countDocuments(), 1);

      // As it is applied again from Git, and another operator reads it.
      await ground.patchSync(namespace, repairOf('one'));
      await restartOperator();
      await ground.patchSync(namespace, { state: 'Paused' });
      await ground.untilSync(namespace, 'paused', (now) => readiness(now) === 'True Paused');
      assert.equal(await repairs(syncer), 1);

      // While it is paused, the next one waits, and says so.
      await copy.deleteMany({ n: { $lt: 10 } });
      await ground.patchSync(namespace, { repair: { token: 'two', comparison: 'Bytes' } });
      const waiting = await ground.untilSync(
        namespace,
        'it says why it waits',
        (now) => readiness(now) === 'False RepairWaiting',
      );
      assert.match(
        findCondition(waiting.conditions, 'Ready')?.message ?? '',
        /set spec\.state to Running/,
      );
      assert.equal(waiting.phase, 'Paused');
      await ground.patchSync(namespace, { state: 'Running' });
      await untilRepair(namespace, {
        ...{ token: 'two', comparison: 'Bytes', state: 'Begun', formerTokens: ['zero', 'one'] },
      });
      assert.equal(repairsOf(await untilInSync(namespace)), 2);
      assert.equal(await copy.countDocuments(), documents - 3);

      // A reverted token asks for nothing.
      await ground.patchSync(namespace, repairOf('one'));
      await until('that is said', async () => (await eventsOf(namespace, 'RepairRefused')) === 1);
      assert.equal(repairsOf(await untilInSync(namespace)), 2);
      assert.equal(await repairs(syncer), 2);
      assert.ok((await eventsOf(namespace, 'Repairing')) >= 1);
    } finally {
      await syncer[Symbol.asyncDispose]();
    }
  });

  it('is not sent twice by the operator that follows one which did not learn of the answer', async () => {
    const { namespace, address } = await ground.newPlace();
    const progress = { ...applying, repairs: 4 };
    await using syncer = await StandIn.start(address, port, { progress });
    await ground.createSync(namespace);
    await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
    await untilInSync(namespace);
    // It says nothing from then on.
    syncer.onCommand = () => {
      syncer.progress = {};
    };
    await ground.patchSync(namespace, { repair: { token: 'one' } });
    await until('it is sent', () => syncer.commandNames.includes('repair'));
    const { repair } = await ground.untilSync(
      namespace,
      'it is known to be requested',
      (now) => now.repair !== undefined,
    );
    const comparison = 'Hashes';
    assert.deepEqual(repair, {
      ...{ token: 'one', comparison, state: 'Requested', formerRepairs: 4 },
    });
    await restartOperator(() => {
      syncer.progress = { progress: { ...copying, repairs: 5 } };
    });
    await untilRepair(namespace, { token: 'one', comparison, state: 'Begun' });
    const now = await ground.untilSync(namespace, 'copies', ({ phase }) => phase === 'InitialCopy');
    assert.equal(findCondition(now.conditions, 'CanCommit')?.status, 'False');
    assert.deepEqual(
      syncer.commands.map(({ name, body }) => ({ name, body })),
      [{ name: 'repair', body: { comparison: 'hashes' } }],
    );
  });

  it('of two instances: is sent to each of them once, although one refuses it at first', async () => {
    const progress = { progress: { ...applying, repairs: 0 } };
    await using sync = await startTwoInstances(ground, {}, progress, progress);
    const { namespace, first, second } = sync;
    await untilInSync(namespace);
    for (const syncer of [first, second])
      syncer.onCommand = () => {
        syncer.progress = { progress: { ...copying, repairs: 1 } };
      };
    second.refusals.set('repair', { success: false, error: 'ClusterUnreachable' });
    await ground.patchSync(namespace, { repair: { token: 'one', comparison: 'Bytes' } });
    await ground.untilSync(
      namespace,
      'one refuses it',
      (now) => readiness(now) === 'False ClusterUnreachable',
    );
    await restartOperator(() => {
      second.refusals.clear();
    });
    await untilRepair(namespace, { token: 'one', comparison: 'Bytes', state: 'Begun' });
    assert.deepEqual(first.commandNames, ['repair']);
    assert.ok(second.commandNames.length >= 2);
    for (const command of second.commands) assert.deepEqual(command, first.commands[0]);
  });
});

function repairsOf({ instances }: ClusterSyncStatus): unknown {
  return instances?.[0]?.progress?.['repairs'];
}

/** How often a syncer has begun a repair, by its log. */
async function repairs(syncer: PodProcess): Promise<number> {
  const log = await readFile(syncer.path('log'), 'utf8');
  return log.split('"msg":"repairing"').length - 1;
}
