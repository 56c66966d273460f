import assert from 'node:assert/strict';
import { MongoClient, type Timestamp } from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { majorityTime } from '../../../mongo/cluster-time.ts';
import { setWriteBlocking } from '../../../syncer/destination/write-blocking.ts';
import { assertEqualClusters } from '../../ground/compare.ts';
import { defaultDeadlineMs } from '../../ground/default-deadline.ts';
import { emptyCluster } from '../../ground/mongod/empty-cluster.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import type { Member, ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { startSyncerProcess, type SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward } from './cluster-pair.ts';
import { commandKind } from './command-kind.ts';
import { holdCommands } from './slow-commands.ts';

describe('state: failovers, rollbacks and silent networks', () => {
  let source: ProxiedReplicaSet;
  let destination: ProxiedReplicaSet;

  before(async () => {
    const options = {
      members: 3,
      electionTimeoutMs: 2000,
      parameters: { enableTestCommands: 1 },
    } as const;
    [source, destination] = await Promise.all([
      startProxiedReplicaSet({ name: 'source', ...options }),
      startProxiedReplicaSet({ name: 'destination', ...options }),
    ]);
  });
  after(async () => {
    await source[Symbol.asyncDispose]();
    await destination[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    for (const { set } of [source, destination]) {
      await set.primary();
      await using client = new MongoClient(set.uri('admin', { w: 'majority' }));
      await emptyCluster(client);
    }
    await using client = new MongoClient(source.set.uri('admin', { w: 'majority' }));
    await client
      .db('shop')
      .collection('items')
      .insertOne({ _id: 'kept' as never });
    await client
      .db('shop')
      .collection('kept')
      .insertOne({ _id: 1 as never });
  });

  const startSyncer = async (): Promise<SyncerProcess> =>
    await startSyncerProcess({
      cluster0: source.set.uri('syncer'),
      cluster1: destination.set.uri('syncer'),
    });

  async function assertCommitsEqual(syncer: SyncerProcess): Promise<void> {
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await assertEqualClusters(source.set.uri('admin'), destination.set.uri('admin'));
  }

  it('what a rollback takes back on the source is not on the destination, nor missing there', async () => {
    await using syncer = await startSyncer();
    const { set } = source;
    const primary = await set.primary();
    await whileReplicationPauses(set, primary, async () => {
      await using alone = new MongoClient(set.directUri('admin', primary), {
        writeConcern: { w: 1 },
      });
      const shop = alone.db('shop');
      await shop.collection<{ _id: unknown }>('items').insertOne({ _id: 'lost' });
      await shop.createCollection('lost');
      await shop.dropCollection('kept');
      await syncer.start(forward);
      await until('the catalog is read', async () => {
        const notes = alone
          .db('admin')
          .aggregate([
            { $currentOp: { allUsers: true } },
            { $match: { 'command.data.clustersync': 'catalog' } },
          ]);
        const isWaiting = (await notes.toArray()).length > 0;
        return isWaiting || (await syncer.log()).includes('"phase":"copy"');
      });
      await set.kill(primary);
    });
    // Back too soon, it would be elected again, and take nothing back.
    await set.primary();
    await set.restart(primary);
    await using client = new MongoClient(set.uri('admin'));
    assert.equal(await client.db('shop').collection('items').countDocuments(), 1);
    await assertCommitsEqual(syncer);
  });

  it('what a rollback may still take back on the source is not copied', async () => {
    const { set } = source;
    const primary = await set.primary();
    const proxy = source.proxy(primary);
    await using syncer = await startSyncer();
    proxy.strandAt((bytes) => commandKind(bytes) === 'find' && bytes.includes('items'));
    await syncer.start(forward);
    await until('the copy is about to read', () => proxy.stranded > 0);
    await whileReplicationPauses(set, primary, async () => {
      await using alone = new MongoClient(set.directUri('admin', primary), {
        writeConcern: { w: 1 },
      });
      await alone.db('shop').collection<{ _id: string }>('items').insertOne({ _id: 'unsafe' });
      proxy.release();
      await until('all is copied', async () => (await syncer.log()).includes('"phase":"changes"'));
      await using client = new MongoClient(destination.set.uri('admin'));
      assert.deepEqual(await client.db('shop').collection('items').find().toArray(), [
        { _id: 'kept' },
      ]);
    });
    await assertCommitsEqual(syncer);
  });

  it('the time from which a sync reads changes is not after a write that a rollback may take back', async () => {
    const { set } = source;
    const primary = await set.primary();
    await using cluster = createClusterClient({
      uri: set.uri('syncer'),
      option: 'cluster0',
      appName: 'test',
    });
    await whileReplicationPauses(set, primary, async () => {
      await using alone = new MongoClient(set.directUri('admin', primary), {
        writeConcern: { w: 1 },
      });
      await alone.db('shop').collection('items').insertOne({});
      const { lastWrite } = (await alone.db('admin').command({ hello: 1 })) as {
        readonly lastWrite: { readonly opTime: { readonly ts: Timestamp } };
      };
      const time = await majorityTime(cluster, AbortSignal.timeout(defaultDeadlineMs));
      assert.ok(time.lessThan(lastWrite.opTime.ts));
    });
  });

  for (const isKilled of [false, true]) {
    const what = isKilled ? 'and the syncer is killed too' : 'and the syncer lives';
    it(`what a rollback takes back on the destination is applied again, ${what}`, async () => {
      await using syncer = await startSyncer();
      await syncer.start(forward);
      await syncer.waitFor(({ canCommit }) => canCommit);
      const { set } = destination;
      const primary = await set.primary();
      await using client = new MongoClient(source.set.uri('admin', { w: 'majority' }));
      const shop = client.db('shop');
      await whileReplicationPauses(set, primary, async () => {
        await using alone = new MongoClient(set.directUri('admin', primary));
        await shop.collection('items').insertMany(Array.from({ length: 50 }, (_, n) => ({ n })));
        await shop.collection<{ _id: string }>('items').deleteOne({ _id: 'kept' });
        await shop.createCollection('late', { capped: true, size: 10_000 });
        await until('the changes are there', async () => {
          const items = alone.db('shop').collection('items');
          return (await items.countDocuments({}, { readConcern: { level: 'local' } })) >= 50;
        });
        if (isKilled) await syncer.kill();
        await set.kill(primary);
      });
      // Back too soon, it would be elected again, and take nothing back.
      await set.primary();
      await set.restart(primary);
      if (isKilled) await syncer.restart();
      await assertCommitsEqual(syncer);
    });
  }

  it('what a rollback takes back of a partition that is being copied is copied again', async () => {
    const { set } = destination;
    const primary = await set.primary();
    await using sourceClient = new MongoClient(source.set.uri('admin', { w: 'majority' }));
    await using destinationClient = new MongoClient(set.uri('admin'));
    const rows = Array.from({ length: 300 }, (_, n) => ({ n, text: 'x'.repeat(40_000) }));
    await sourceClient.db('shop').collection('large').insertMany(rows);
    await using syncer = await startSyncer();
    const sourceSide = { set: source.set, client: sourceClient };
    // The fetch after the first one waits for an election on the destination: no write is under way there then.
    const reading = await holdCommands(sourceSide, 'getMore', 'shop.large');
    try {
      await using writing = await holdCommands(
        { client: destinationClient },
        'insert',
        'shop.large',
      );
      await syncer.start(forward);
      await Promise.all([reading.reached(1), writing.reached(1)]);
      await whileReplicationPauses(set, primary, async () => {
        await writing[Symbol.asyncDispose]();
        await using alone = new MongoClient(set.directUri('admin', primary));
        // Not only there: the syncer knows of it, too, and has no write under way.
        await syncer.waitFor(
          ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 50 * 40_000,
        );
        assert.ok((await countLarge(alone)) > 50);
        await set.kill(primary);
      });
      await set.primary();
      assert.equal(await countLarge(destinationClient), 0);
    } finally {
      await reading[Symbol.asyncDispose]();
    }
    await set.restart(primary);
    await assertCommitsEqual(syncer);
    assert.match(await syncer.log(), /the primary changed before a majority had the write/);
  });

  for (const name of ['source', 'destination'] as const) {
    it(`a silent network before the ${name} is noticed, told of, and survived`, async () => {
      await using syncer = await startSyncer();
      await syncer.start(forward);
      await syncer.waitFor(({ canCommit }) => canCommit);
      const { proxies } = name === 'source' ? source : destination;
      for (const proxy of proxies) proxy.freeze();
      await using client = new MongoClient(source.set.uri('admin', { w: 'majority' }));
      await client.db('shop').collection('items').insertOne({});
      const { state } = await syncer.waitFor(
        ({ warnings }) => warnings?.some((warning) => warning.includes('trying again')) === true,
      );
      assert.equal(state, 'RUNNING');
      for (const proxy of proxies) proxy.heal();
      await syncer.waitFor(({ warnings }) => warnings?.length === 0);
      await assertCommitsEqual(syncer);
    });
  }

  it('a connection that saw its server step down and come back can block writes', async () => {
    const { set } = destination;
    const signal = AbortSignal.timeout(defaultDeadlineMs);
    const first = await set.primary();
    await using cluster = createClusterClient({
      uri: `${set.uri('admin')}&maxPoolSize=1`,
      option: 'cluster1',
      appName: 'test',
    });
    await setWriteBlocking(cluster, true, signal);
    for (const member of [...set.members.filter((other) => other !== first), first])
      await stepUp(set, member);
    await setWriteBlocking(cluster, true, signal);
    await setWriteBlocking(cluster, false, signal);
  });
});

/** Documents of the large collection, whether a majority has them or not. */
async function countLarge(client: MongoClient): Promise<number> {
  const large = client.db('shop').collection('large');
  return await large.countDocuments({}, { readConcern: { level: 'local' } });
}

/** Makes a member the primary. */
async function stepUp(set: ReplicaSet, member: Member): Promise<void> {
  await using client = new MongoClient(set.directUri('admin', member));
  await until('a new primary', async () => {
    await client
      .db('admin')
      .command({ replSetStepUp: 1 })
      .catch(() => undefined);
    return (await set.primary()) === member;
  });
}

/** Runs something while no secondary fetches what the primary writes. */
async function whileReplicationPauses(
  set: ReplicaSet,
  primary: Member,
  run: () => Promise<void>,
): Promise<void> {
  const setMode = async (mode: 'alwaysOn' | 'off'): Promise<void> => {
    for (const member of set.members.filter((other) => other !== primary)) {
      await using client = new MongoClient(set.directUri('admin', member));
      await client.db('admin').command({ configureFailPoint: 'stopReplProducer', mode });
    }
  };
  await setMode('alwaysOn');
  try {
    await run();
  } finally {
    await setMode('off');
  }
}
