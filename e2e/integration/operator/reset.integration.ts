import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { MongoClient } from 'mongodb';
import { clusterSyncs, type ClusterSync } from '../../../operator/api/clustersync.ts';
import { events, type StatefulSet } from '../../../operator/kube/builtin-resources.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { emptyCluster } from '../../ground/mongod/empty-cluster.ts';
import { until } from '../../ground/until.ts';
import { OperatorGround, readiness, RunningOperator } from './operator-ground.ts';
import { PodProcess } from './pod-process.ts';
import { applying, StandIn } from './stand-in.ts';

const signal = new AbortController().signal;
const spec = { includeNamespaces: [{ database: 'shop' }] } as const;
const documents = 50;

describe('the end of a sync by the operator, on a real API server with real syncers', () => {
  let ground: OperatorGround;
  let operator: RunningOperator;
  let sets: readonly ReplicaSet[] = [];
  let source: MongoClient;
  let destination: MongoClient;

  before(async () => {
    [ground, ...sets] = await Promise.all([
      OperatorGround.start(),
      startReplicaSet({ members: 1, name: 'source', syncerRoles: 'sourceWithWriteBlocking' }),
      startReplicaSet({ members: 1, name: 'destination', syncerRoles: 'destination' }),
    ]);
    const [from, to] = sets;
    assert.ok(from && to);
    source = new MongoClient(from.uri('admin'));
    destination = new MongoClient(to.uri('admin'));
    await ground.server.startGarbageCollector();
    operator = await RunningOperator.start(ground.kubeconfig);
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    for (const client of [source, destination]) await client.close();
    for (const set of sets) await set.stop();
    await ground[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    await Promise.all([source, destination].map(emptyCluster));
    const rows = Array.from({ length: documents }, (_, n) => ({ n }));
    await source.db('shop').collection('items').insertMany(rows);
    await destination.db('mine').collection('notes').insertOne({ by: 'user' });
  });

  /** Another operator than the one before, which was in the middle of something. */
  async function restartOperator(between?: () => Promise<void>): Promise<void> {
    await operator[Symbol.asyncDispose]();
    await between?.();
    operator = await RunningOperator.start(ground.kubeconfig);
  }

  interface Scene {
    readonly namespace: string;
    readonly address: string;
    readonly set: StatefulSet;
  }

  async function newPlace(): Promise<Pick<Scene, 'namespace' | 'address'>> {
    const [from, to] = sets;
    assert.ok(from && to);
    return await ground.newPlace(from.uri('syncer'), to.uri('syncer'));
  }

  let containers = 0;

  async function runSyncer({ namespace, address }: Omit<Scene, 'set'>): Promise<PodProcess> {
    const set = await ground.untilMade(namespace, 'orders-syncer');
    const syncer = await PodProcess.start(ground.client, set, address);
    await ground.runPod(set, address, { containerID: `test://${(containers += 1)}` });
    return syncer;
  }

  async function untilInSync(namespace: string) {
    return await ground.untilSync(namespace, 'in sync', (now) => readiness(now) === 'True InSync');
  }

  async function deleteSync(namespace: string): Promise<void> {
    await ground.client.delete(clusterSyncs, { namespace, name: 'orders' }, { signal });
  }

  async function eventOf(namespace: string, reason: string): Promise<string> {
    let note: string | undefined;
    await until(`the event ${reason}`, async () => {
      const { items } = await ground.client.list(events, { namespace, signal });
      note = items.find((event) => event.reason === reason)?.note;
      return note !== undefined;
    });
    return note ?? '';
  }

  const copied = async (): Promise<number> =>
    await destination.db('shop').collection('items').countDocuments();

  async function resets(syncer: PodProcess): Promise<number> {
    const log = await readFile(syncer.path('log'), 'utf8');
    return log.split('"msg":"resetting"').length - 1;
  }

  it('startOver: once for each token, whichever operator is there, then the sync begins again', async () => {
    const place = await newPlace();
    const { namespace } = place;
    await ground.createSync(namespace, spec);
    await using syncer = await runSyncer(place);
    const before = await untilInSync(namespace);
    assert.equal(await copied(), documents);
    // A sync that continues would not bring it back.
    await destination.db('shop').collection('items').deleteMany({});

    await operator[Symbol.asyncDispose]();
    await ground.patchSync(namespace, { startOver: { token: 'one', destination: 'Clean' } });
    operator = await RunningOperator.start(ground.kubeconfig);
    await ground.untilSync(namespace, 'asked for', ({ startOver }) => startOver !== undefined);
    await restartOperator();
    await ground.untilSync(namespace, 'done', ({ startOver }) => startOver?.state === 'Done');
    await restartOperator();
    const after = await untilInSync(namespace);
    assert.deepEqual(after.startOver, { token: 'one', state: 'Done' });
    assert.notEqual(after.startedAt, undefined);
    assert.notEqual(startOf(after), startOf(before));
    assert.equal(await copied(), documents);
    assert.equal(await resets(syncer), 1);
    assert.equal(await destination.db('mine').collection('notes').countDocuments(), 1);

    await ground.patchSync(namespace, { startOver: { token: 'two', destination: 'Clean' } });
    await ground.untilSync(
      namespace,
      'done again',
      ({ startOver }) => startOver?.token === 'two' && startOver.state === 'Done',
    );
    await untilInSync(namespace);
    assert.equal(await resets(syncer), 2);
    assert.equal(await copied(), documents);
    await eventOf(namespace, 'StartedOver');
    await deleteSync(namespace);
    await ground.untilCollected(namespace);
  });

  it('startOver with initialData Present keeps the copy, and brings only what differs', async () => {
    const place = await newPlace();
    const { namespace } = place;
    await ground.createSync(namespace, spec);
    await using syncer = await runSyncer(place);
    await untilInSync(namespace);
    const items = destination.db('shop').collection('items');
    const collectionOf = async (): Promise<unknown> =>
      (await destination.db('shop').listCollections({ name: 'items' }).toArray())[0];
    const kept = await collectionOf();
    await items.deleteMany({ n: { $lt: 3 } });
    const startOver = { token: 'one', destination: 'Keep' } as const;
    await assert.rejects(
      ground.patchSync(namespace, { initialData: 'Present' }),
      /startOver.token/,
    );
    await ground.patchSync(namespace, { initialData: 'Present', startOver });
    await ground.untilSync(namespace, 'done', (now) => now.startOver?.state === 'Done');
    await untilInSync(namespace);
    assert.equal(await resets(syncer), 1);
    assert.equal(await copied(), documents);
    assert.deepEqual(await collectionOf(), kept);
    await deleteSync(namespace);
    await ground.untilCollected(namespace);
  });

  it('onDelete Clean: kept until it is done, by the next operator and the next syncer', async () => {
    const place = await newPlace();
    const { namespace } = place;
    await ground.createSync(namespace, {
      ...{ ...spec, onDelete: 'Clean', enableUserWriteBlocking: true },
    });
    const first = await runSyncer(place);
    await untilInSync(namespace);
    await first.end();
    await restartOperator(async () => {
      await deleteSync(namespace);
    });
    const waiting = await ground.untilSync(
      namespace,
      'it says why it waits',
      (status) => readiness(status) === 'False SyncerUnreachable',
    );
    const message = findCondition(waiting.conditions, 'Ready')?.message ?? '';
    assert.match(message, /set spec\.onDelete to Keep$/);
    assert.equal(await copied(), documents);
    await first[Symbol.asyncDispose]();
    await using second = await runSyncer(place);
    await restartOperator();
    await ground.untilCollected(namespace);
    assert.deepEqual(await destination.db('shop').listCollections().toArray(), []);
    assert.equal(await destination.db('mine').collection('notes').countDocuments(), 1);
    assert.equal(await isBlocked(), false);
    assert.match(await eventOf(namespace, 'Reset'), /spec\.onDelete: Clean/);
    assert.equal(await resets(second), 1);
    assert.equal(await storedSyncs(), 0);
  });

  it('onDelete Unblock: users may write again, and what was copied stays', async () => {
    const place = await newPlace();
    const { namespace } = place;
    await ground.createSync(namespace, {
      ...{ ...spec, onDelete: 'Unblock', enableUserWriteBlocking: true },
    });
    await using syncer = await runSyncer(place);
    await untilInSync(namespace);
    assert.equal(await isBlocked(), true);
    await deleteSync(namespace);
    await ground.untilCollected(namespace);
    assert.equal(await isBlocked(), false);
    assert.equal(await copied(), documents);
    assert.equal(await storedSyncs(), 0);
    assert.equal(await resets(syncer), 1);
  });

  it('onDelete Keep: an event says what is left, and the same spec resumes from there', async () => {
    const place = await newPlace();
    const { namespace } = place;
    const blocking = { ...spec, enableUserWriteBlocking: true };
    await ground.createSync(namespace, blocking);
    const syncer = await runSyncer(place);
    const before = await untilInSync(namespace);
    await deleteSync(namespace);
    await ground.untilCollected(namespace);
    const note = await eventOf(namespace, 'LeftUnfinished');
    assert.match(note, /a copy of about [1-9][0-9]* bytes on new, writes .* blocked on new,/);
    assert.match(note, /the same spec resumes from there/);
    await syncer[Symbol.asyncDispose]();
    assert.equal(await isBlocked(), true);
    assert.equal(await copied(), documents);
    assert.equal(await storedSyncs(), 1);

    await ground.createSync(namespace, blocking);
    await using next = await runSyncer(place);
    assert.equal(startOf(await untilInSync(namespace)), startOf(before));
    assert.equal(await resets(next), 0);
    await deleteSync(namespace);
    await ground.untilCollected(namespace);
  });

  it('onDelete Clean that cannot be carried out says so, and goes with Keep', async () => {
    const { namespace, address } = await ground.newPlace();
    await using syncer = await StandIn.start(address, 27182, { progress: applying });
    await ground.createSync(namespace, { onDelete: 'Clean' });
    const set = await ground.untilMade(namespace, 'orders-syncer');
    await ground.runPod(set, address);
    await untilInSync(namespace);
    const error = 'ClusterUnreachable: the destination is gone';
    syncer.progress = { error };
    syncer.refusals.set('reset', {
      ...{ success: false, error: 'ClusterUnreachable', errorDescription: 'gone' },
    });
    await deleteSync(namespace);
    const status = await ground.untilSync(
      namespace,
      'it says why',
      (now) => readiness(now) === 'False ClusterUnreachable',
    );
    const message = findCondition(status.conditions, 'Ready')?.message ?? '';
    assert.match(message, /; to release it as it is, set spec\.onDelete to Keep$/);
    await until('it is tried', () => syncer.commandNames.includes('reset'));
    await eventOf(namespace, 'ClusterUnreachable');
    await ground.patchSync(namespace, { onDelete: 'Keep' });
    await ground.untilCollected(namespace);
  });

  function startOf({ instances }: NonNullable<ClusterSync['status']>): unknown {
    return instances?.[0]?.progress?.['startedAt'];
  }

  async function isBlocked(): Promise<boolean> {
    const status = await destination.db('admin').command({ serverStatus: 1, repl: 1 });
    return Number((status['repl'] as { userWriteBlockMode?: unknown }).userWriteBlockMode) === 2;
  }

  async function storedSyncs(): Promise<number> {
    const sync = destination.db('clustersync_internal').collection<{ _id: string }>('sync');
    return await sync.countDocuments({ _id: 'sync' });
  }
});
