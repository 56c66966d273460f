import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { MongoClient, type Db } from 'mongodb';
import { messageOf } from '../../../service/errors.ts';
import { assertEqualClusters } from '../../ground/compare.ts';
import { keepLog } from '../../ground/keep-log.ts';
import { emptyCluster } from '../../ground/mongod/empty-cluster.ts';
import { startProxiedReplicaSet } from '../../ground/mongod/proxied-replica-set.ts';
import {
  startSyncerProcess,
  type SyncerProcess,
  type SyncerProgress,
} from '../../ground/syncer-process.ts';
import { checkTrace } from '../../model/trace.ts';
import { forward } from './cluster-pair.ts';
import { PersistentOperator } from './persistent-operator.ts';
import type { WatchedWork } from './each-write-fails.ts';
import { isReversiblePair } from './skip-reversal.ts';
import type { PlannedFault } from './planned-writes.ts';
import { WriteWatch } from './write-faults.ts';

/** Documents that there are to copy. */
const items = 60;

/** How many events the changes are, between the copy and the pause, and before the commit. */
const events = { beforePause: 21, beforeCommit: 24 } as const;

/** How many documents each collection has in the end. */
const documents = {
  committed: { items: 63, late: 1, log: 10, name: 2 },
  reversed: { items: 63, late: 1, log: 10, 'made here': 1, name: 2 },
} as const;

/**
 * Starts two replica sets between which syncs run one after the other, each through all its phases, with a watch on what is written to
 * both sides. A run rejects unless its sync has ended with both sides equal.
 */
export async function startWatchedPair(): Promise<WatchedWork> {
  await using stack = new AsyncDisposableStack();
  const [source, destination] = await Promise.all(
    (['source', 'destination'] as const).map(async (name) =>
      stack.use(await startProxiedReplicaSet({ name, members: 1 })),
    ),
  );
  assert.ok(source && destination);
  const [there, here] = [source, destination].map(({ set }) =>
    stack.use(new MongoClient(set.uri('admin', { w: 'majority' }))),
  );
  assert.ok(there && here);
  const watch = new WriteWatch([source, destination], {
    stateDatabase: 'clustersync_internal',
    periodic: /(heartbeatAt|renewedAt|eventsApplied,heartbeatAt)\)$|^appendOplogNote/,
  });
  const isReversible = await isReversiblePair();
  const assertEqual = async (): Promise<void> => {
    await assertEqualClusters(source.set.uri('admin'), destination.set.uri('admin'));
  };

  async function syncAndReverse(
    syncer: SyncerProcess,
    planned: PlannedFault | undefined,
  ): Promise<void> {
    assert.ok(source && destination && there && here);
    const operator = new PersistentOperator(syncer);
    const shop = there.db('shop');
    const start = { ...forward, enableUserWriteBlocking: true, reversible: isReversible };
    await operator.give('start', start, ({ state }) => state !== 'IDLE');
    await operator.reached('canCommit', canCommit);
    await change(there);
    await operator.reached('the changes', ({ totalEventsApplied }) => {
      return (totalEventsApplied ?? 0) >= events.beforePause;
    });
    await operator.give('pause', {}, ({ state }) => state === 'PAUSED');
    await changeWhilePaused(shop);
    await operator.give('resume', {}, ({ state }) => state !== 'PAUSED');
    const progress = await commit(operator);
    assertDone(progress, planned);
    assert.deepEqual(await countDocuments(here.db('shop')), documents.committed);
    await assertEqual();
    if (!isReversible || watch.met !== undefined) return;

    await changeBack(here.db('shop'));
    await operator.give('reverse', {}, ({ state }) => state !== 'COMMITTED');
    await commit(operator);
    assert.deepEqual(await countDocuments(shop), documents.reversed);
    await assertEqual();
  }

  async function startedSyncer(): Promise<SyncerProcess> {
    assert.ok(source && destination);
    return await startSyncerProcess({
      cluster0: source.set.uri('syncer'),
      cluster1: destination.set.uri('syncer'),
      options: { partitionMebibytes: 0.01, copyWorkers: 1 },
    });
  }

  // Runs all syncs, unless one has failed: the code of a new process takes seconds to be as fast.
  let idle: SyncerProcess | undefined;
  const moved = stack.move();
  return {
    async run(planned) {
      watch.begin();
      await Promise.all([emptyCluster(there), emptyCluster(here)]);
      await using own = new AsyncDisposableStack();
      const syncer = own.use(idle ?? (await startedSyncer()));
      idle = undefined;
      await prepare(there.db('shop'));
      const kill = (): void => {
        if (syncer.pid !== undefined) process.kill(syncer.pid, 'SIGKILL');
      };
      watch.begin(planned && { ...planned, kill });
      const { order } = watch;
      try {
        await syncAndReverse(syncer, planned);
        const { met } = watch;
        watch.begin();
        const operator = new PersistentOperator(syncer);
        await operator.give('reset', {}, ({ state }) => state === 'PAUSED' || state === 'IDLE');
        await operator.reached('IDLE', ({ state }) => state === 'IDLE');
        assert.ok(checkTrace(await syncer.log()) > 0, 'nothing was judged');
        idle = syncer;
        own.move();
        return { order, met };
      } catch (error) {
        throw await explained(`${watch.met ?? 'no write'}: ${messageOf(error)}`, syncer);
      }
    },
    [Symbol.asyncDispose]: async () => {
      await idle?.[Symbol.asyncDispose]();
      await moved.disposeAsync();
    },
  };
}

/** A repetition may count again what the store has counted before; nothing is counted twice where nothing was disturbed. */
function assertDone(progress: SyncerProgress, planned: PlannedFault | undefined): void {
  const { totalEventsApplied, collectionCopy } = progress;
  const applied = totalEventsApplied ?? 0;
  if (planned) assert.ok(applied >= events.beforeCommit, `only ${applied} events were applied`);
  else {
    assert.equal(applied, events.beforeCommit);
    assert.equal(collectionCopy?.estimatedCopiedBytes, collectionCopy?.estimatedTotalBytes);
  }
}

async function countDocuments(shop: Db): Promise<Readonly<Record<string, number>>> {
  const infos = await shop.listCollections({ type: 'collection' }, { nameOnly: true }).toArray();
  const names = infos.map(({ name }) => name).filter((name) => !name.startsWith('system.'));
  const counts = names
    .sort()
    .map(async (name) => [name, await shop.collection(name).countDocuments()] as const);
  return Object.fromEntries(await Promise.all(counts));
}

/** An error, with where the syncer's log is. */
async function explained(message: string, syncer: SyncerProcess): Promise<Error> {
  const path = await keepLog(syncer, `every-write-${randomUUID()}`);
  return new Error(`${message}\nlog: ${path}`);
}

function canCommit(progress: SyncerProgress): boolean {
  return progress.canCommit;
}

async function commit(operator: PersistentOperator): Promise<SyncerProgress> {
  await operator.reached('canCommit', canCommit);
  await operator.give('commit', {}, ({ state }) => state === 'COMMITTING' || state === 'COMMITTED');
  await operator.reached('canWrite', ({ canWrite }) => canWrite === true);
  return await operator.reached('COMMITTED', ({ state }) => state === 'COMMITTED');
}

async function prepare(shop: Db): Promise<void> {
  const text = 'x'.repeat(400);
  await shop.collection('items').insertMany(Array.from({ length: items }, (_, n) => ({ n, text })));
  await shop.command({
    createIndexes: 'items',
    indexes: [
      { key: { n: 1 }, name: 'n', unique: true },
      { key: { at: 1 }, name: 'ttl', expireAfterSeconds: 36_000, hidden: true },
    ],
  });
  await shop.command({ create: 'log', capped: true, size: 1e5, max: 10 });
  await shop.collection('log').insertMany(Array.from({ length: 12 }, (_, n) => ({ n })));
  await shop.command({ create: 'view', viewOn: 'items', pipeline: [{ $limit: 3 }] });
  for (const name of ['dropped', 'renamed']) await shop.collection(name).insertOne({ name });
}

/** Each kind of change that a sync carries over. */
async function change(client: MongoClient): Promise<void> {
  const shop = client.db('shop');
  await shop.collection('items').insertMany([{ n: 1_000 }, { n: 1_001 }, { n: 1_002 }]);
  await shop.collection('items').updateOne({ n: 1 }, { $set: { text: 'changed' } });
  await shop.collection('items').updateOne({ n: 2 }, { $inc: { times: 1 } });
  await shop.collection('items').deleteOne({ n: 3 });
  await shop.collection('log').insertOne({ n: 12 });
  await client.withSession(async (session) => {
    await session.withTransaction(async () => {
      await shop.collection('items').insertOne({ n: 1_003 }, { session });
      await shop.collection('renamed').insertOne({ n: 1_003 }, { session });
    });
  });
  await shop.command({ create: 'late', validator: { n: { $exists: true } } });
  await shop.collection('late').insertOne({ n: 1 });
  const indexes = [{ key: { n: -1 }, name: 'late', unique: true }];
  await shop.command({ createIndexes: 'late', indexes });
  await shop.collection('renamed').rename('name');
  await shop.dropCollection('dropped');
  await shop.command({ collMod: 'items', validator: { n: { $exists: true } } });
  await shop.command({ collMod: 'items', index: { name: 'ttl', expireAfterSeconds: 72_000 } });
  await shop.command({ createIndexes: 'items', indexes: [{ key: { text: 1 }, name: 'text' }] });
  await shop.command({ dropIndexes: 'items', index: 'text' });
  await shop.command({ collMod: 'view', viewOn: 'items', pipeline: [{ $limit: 4 }] });
  await shop.command({ create: 'another view', viewOn: 'late', pipeline: [] });
}

async function changeWhilePaused(shop: Db): Promise<void> {
  await shop.collection('items').insertOne({ n: 1_004 });
  await shop.collection('items').deleteOne({ n: 4 });
  await shop.collection('another view').drop();
}

/** What users do when they may, and with it a change of the catalog. */
async function changeBack(shop: Db): Promise<void> {
  await shop.collection('items').insertOne({ n: 2_000 });
  await shop.collection('items').updateOne({ n: 30 }, { $set: { back: true } });
  await shop.collection('items').deleteOne({ n: 31 });
  await shop.collection('made here').insertOne({ n: 1 });
  await shop.command({ createIndexes: 'name', indexes: [{ key: { n: 1 }, name: 'n' }] });
}
