import assert from 'node:assert/strict';
import { deploymentOf } from '../../../mongo/deployment.ts';
import { connectCluster, createClusterClient } from '../../../mongo/cluster-client.ts';
import { createLogger } from '../../../service/logger.ts';
import { SyncMonitor } from '../../../syncer/monitor/monitor.ts';
import { awaitEarlierWrites } from '../../../syncer/destination/earlier-writes.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward } from './cluster-pair.ts';
import { changeShardKeys } from './changed-shard-keys.ts';
import { slowOnShards } from './slow-commands.ts';
import { shardingEntry, useShardedPair } from './sharded-pair.ts';
import { byK, items, shopItems, type Item } from './shop-items.ts';

describe('contract 2.4: a replica set synced into a sharded cluster', () => {
  const pair = useShardedPair(3);

  beforeEach(async () => {
    await pair.reset();
  });

  const { source, copy } = shopItems(pair);

  it('shards what is listed and nothing else, and all shards have their part from the copy on', async () => {
    const shop = pair.source.client.db('shop');
    const keys: Readonly<Record<string, readonly object[]>> = {
      ranged: [{ k: 1 }],
      hashed: [{ k: 'hashed' }],
      compound: [{ region: 1 }, { k: 1 }],
      dotted: [{ 'a.b': 1 }],
      half: [{ region: 1 }, { k: 'hashed' }],
      ids: [{ _id: 1 }],
      'hashed.ids': [{ _id: 'hashed' }],
      collated: [{ region: 1 }, { k: 1 }],
      empty: [{ k: 1 }],
    };
    await shop.createCollection('collated', { collation: { locale: 'en', strength: 2 } });
    for (const [name, key] of Object.entries(keys)) {
      const supporting = Object.assign({}, ...key) as Record<string, 1>;
      const simple = { locale: 'simple' };
      const unique = name === 'ranged' && { unique: true };
      await shop
        .collection(name)
        .createIndexes([{ key: supporting, collation: simple, ...unique }]);
      if (name !== 'empty') await shop.collection<Item>(name).insertMany(items(600));
    }
    await shop.collection<Item>('unlisted').insertMany(items(10));
    await shop.createCollection('capped', { capped: true, size: 4096 });
    await shop.createCollection('view', { viewOn: 'ranged', pipeline: [] });
    const shardingEntries = Object.entries(keys).map(([name, key]) =>
      shardingEntry(`shop.${name}`, ...key),
    );
    await using syncer = await pair.syncing({ sharding: { shardingEntries } });
    for (const [name, key] of Object.entries(keys)) {
      assert.deepEqual(await pair.shardKey(`shop.${name}`), Object.assign({}, ...key));
      if (name === 'empty') continue;
      for (const [shard, count] of Object.entries(await pair.spread(`shop.${name}`)))
        assert.ok(count >= 60, `${shard} has ${count} of 600 of ${name}`);
    }
    assert.equal(await pair.shardKey('shop.unlisted'), undefined);
    for (const name of Object.keys(keys)) {
      const one = shop.collection<Item>(name);
      await one.insertMany(items(20, 1_000));
      await one.updateMany({ _id: { $lt: 200 } }, { $inc: { k: 5_001 }, $set: { region: 'us' } });
      await one.updateMany({ _id: { $gte: 200, $lt: 300 } }, { $set: { 'a.b': 'another text' } });
      await one.updateMany({ _id: { $gte: 300, $lt: 320 } }, { $unset: { a: '', region: '' } });
      await one.deleteMany({ _id: { $gte: 150, $lt: 250 } });
      await one.replaceOne({ _id: 400 }, { k: -1, a: { b: 'text 1' } });
    }
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('writes to all shards from the beginning, also where the shard key rises with the _id', async () => {
    await source().createIndexes([{ key: { k: 1 } }]);
    const filler = 'f'.repeat(1_000);
    await source().insertMany(items(3_000).map((item) => ({ ...item, filler })));
    await using slow = await slowOnShards(pair.destination, ['insert'], 100);
    await using syncer = await pair.syncer({
      options: { partitionMebibytes: 0.05, copyWorkers: 1 },
    });
    await syncer.start({ ...forward, ...byK });
    const { collectionCopy } = await syncer.waitFor(
      (progress) => (progress.collectionCopy?.estimatedCopiedBytes ?? 0) > 700_000,
    );
    await syncer.kill();
    await slow[Symbol.asyncDispose]();
    assert.ok((collectionCopy?.estimatedCopiedBytes ?? Infinity) < 1_500_000, 'in mid-copy');
    for (const [shard, count] of Object.entries(await pair.spread('shop.items')))
      assert.ok(count > 30, `${shard} has ${count} of 3000`);
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  describe('contract 4.1 rule 7: a collection that is renamed', () => {
    beforeEach(async () => {
      await source().createIndexes([{ key: { k: 1 } }]);
      const filler = 'f'.repeat(1_000);
      await source().insertMany(items(1_500).map((item) => ({ ...item, filler })));
    });

    it('before its copy begins is there in the end, sharded or not', async () => {
      await using slow = await slowOnShards(pair.destination, ['_shardsvrCreateCollection'], 1_500);
      await using syncer = await pair.syncer();
      await syncer.start({ ...forward, ...byK });
      assert.equal((await syncer.progress()).collectionCopy?.estimatedCopiedBytes ?? 0, 0);
      await source().rename('renamed');
      await syncer.waitFor(({ canCommit }) => canCommit);
      await slow[Symbol.asyncDispose]();
      await commitAndWait(syncer);
      await pair.assertEqual();
    });

    it('once bytes of it are copied is sharded, also after a crash', async () => {
      await using slow = await slowOnShards(pair.destination, ['insert'], 100);
      await using syncer = await pair.syncer({
        options: { partitionMebibytes: 0.1, copyWorkers: 1 },
      });
      await syncer.start({ ...forward, ...byK });
      await syncer.waitFor(({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 0);
      await source().rename('renamed');
      await syncer.kill();
      await slow[Symbol.asyncDispose]();
      await syncer.restart();
      await syncer.waitFor(({ canCommit }) => canCommit);
      await commitAndWait(syncer);
      assert.deepEqual(await pair.shardKey('shop.renamed'), { k: 1 });
      await pair.assertEqual();
    });
  });

  it('applies changes of every kind, of the shard key too, during the copy and after it', async () => {
    await source().createIndexes([{ key: { k: 1 } }]);
    await source().insertMany(items(900));
    await using syncer = await pair.syncer({ options: { partitionMebibytes: 0.01 } });
    await syncer.start({ ...forward, ...byK });
    await changeShardKeys(pair.source.client, source(), 0);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await changeShardKeys(pair.source.client, source(), 300);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  const changes: Readonly<Record<string, (_id: string, k: number) => Promise<unknown>>> = {
    'is inserted': async (_id, k) => await source().insertOne({ _id, k, v: 'new' }),
    'gets another shard key': async (_id, k) =>
      await source().updateOne({ _id }, { $set: { k, v: 'new' } }),
    'is replaced by one with another shard key': async (_id, k) =>
      await source().replaceOne({ _id }, { k, v: 'new' }),
  };
  for (const [what, change] of Object.entries(changes)) {
    it(`a document that ${what} is not passed over where an orphan on its shard refuses it`, async () => {
      await source().createIndexes([{ key: { k: 1 } }]);
      await source().insertMany(items(300));
      await using syncer = await pair.syncing(byK);
      const [first, second] = Object.entries(await pair.destination.onShards('shop.items'));
      const shard = first?.[0] ?? '';
      const to = Number(first?.[1][0]?.['k']);
      const from = Number(second?.[1][0]?.['k']);
      const _id = 'refused';
      if (what !== 'is inserted') {
        await source().insertOne({ _id, k: from, v: 'old' });
        await until('it is there', async () => (await copy().countDocuments({ _id })) === 1);
      }
      const onShard = pair.destination.cluster.shardClient(shard).db('shop');
      const orphans = onShard.collection<Item>('items');
      await orphans.insertOne({ _id, k: from, v: 'orphan' });
      await change(_id, to);
      const { canCommit } = await syncer.waitFor(({ warnings }) =>
        /commit: not possible now: apply: .* rejects the _id "refused"/.test(String(warnings)),
      );
      assert.equal(canCommit, false);
      await orphans.deleteOne({ _id, v: 'orphan' });
      await until('it is there', async () => {
        return (await copy().countDocuments({ _id, k: to, v: 'new' })) === 1;
      });
      await syncer.waitFor(({ canCommit }) => canCommit);
      await commitAndWait(syncer);
      await pair.assertEqual();
    });
  }

  it('a document is not passed over by the copy where an orphan on its shard refuses it', async () => {
    await source().createIndexes([{ key: { k: 1 } }]);
    const filler = 'f'.repeat(500);
    await source().insertMany(items(1500).map((item) => ({ ...item, filler })));
    await using syncer = await pair.syncer({
      options: { partitionMebibytes: 0.1, copyWorkers: 1 },
    });
    await syncer.start({ ...forward, ...byK, limits: { maxCopyDocumentsPerSecond: 50 } });
    await until('each shard has documents', async () => {
      const spread = Object.values(await pair.spread('shop.items'));
      return spread.length > 1 && spread.every((count) => count > 0);
    });
    const there = await copy().find().toArray();
    const missing = await source().findOne(
      { _id: { $nin: there.map(({ _id }) => _id) } },
      { sort: { _id: -1 } },
    );
    assert.ok(missing, 'in mid-copy');
    const { _id } = missing;
    // It shows on no shard: each has it with a key that is another one's.
    const shards = Object.entries(await pair.destination.onShards('shop.items'));
    const orphans = shards.map(([shard], index) => ({
      k: Number(shards.at(index - 1)?.[1][0]?.['k']),
      items: pair.destination.cluster.shardClient(shard).db('shop').collection<Item>('items'),
    }));
    for (const { k, items: onShard } of orphans) await onShard.insertOne({ _id, k, v: 'orphan' });
    assert.equal(await copy().countDocuments({ _id }), 0, 'still in mid-copy');
    assert.equal((await syncer.post('limits', {})).status, 200);
    await syncer.waitFor(({ warnings }) =>
      String(warnings).includes(`rejects the _id ${String(_id)}`),
    );
    assert.equal((await syncer.progress()).canCommit, false);
    for (const { items: onShard } of orphans) await onShard.deleteOne({ _id, v: 'orphan' });
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('leaves no document on two shards when the copy is broken off and its shard key changes', async () => {
    await source().createIndexes([{ key: { k: 1 } }]);
    const filler = 'f'.repeat(500);
    await source().insertMany(items(1500).map((item) => ({ ...item, filler })));
    await using syncer = await pair.syncer({
      options: { partitionMebibytes: 0.2, copyWorkers: 1 },
    });
    await syncer.start({ ...forward, ...byK });
    for (let round = 1; round <= 3; round++) {
      await syncer.waitFor(
        ({ collectionCopy, canCommit }) =>
          canCommit || (collectionCopy?.estimatedCopiedBytes ?? 0) > round * 200_000,
      );
      await syncer.kill('SIGKILL');
      await source().updateMany({ _id: { $lt: 500 * round } }, [
        { $set: { k: { $subtract: [10_500, '$k'] } } },
      ]);
      await syncer.restart();
    }
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('keeps what the server takes literally, and ids that are equal under a collation', async () => {
    const shop = pair.source.client.db('shop');
    const collation = { locale: 'en', strength: 2 };
    await shop.createCollection('collated', { collation });
    for (const name of ['items', 'collated'])
      await shop
        .collection(name)
        .createIndexes([{ key: { k: 1 }, collation: { locale: 'simple' } }]);
    const collated = shop.collection<Item>('collated');
    await collated.insertMany([
      { _id: 'a', k: 1 },
      { _id: 'B', k: 'x' },
      { _id: 'c', k: 'X' },
    ]);
    await source().insertMany(items(50));
    const shardingEntries = ['shop.items', 'shop.collated'].map((ns) =>
      shardingEntry(ns, { k: 1 }),
    );
    await using syncer = await pair.syncing({ sharding: { shardingEntries } });
    await collated.updateOne({ _id: 'a' }, { $set: { k: 99, v: 1 } });
    await collated.updateOne({ _id: 'B' }, { $set: { v: 2 } });
    await collated.deleteOne({ _id: 'c' });
    await collated.insertOne({ _id: 'C', k: 'a' });
    await collated.replaceOne({ _id: 'b' }, { k: 'Y' });
    const db = shop;
    await db.command({
      insert: 'items',
      documents: [
        { _id: 'dollar', k: 1, $set: { a: 1 } },
        { _id: { a: 1 }, k: 2, 'dotted.name': 1 },
      ],
    });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('follows the catalog: sharded collections are renamed, dropped, made again, and go to other databases', async () => {
    const shop = pair.source.client.db('shop');
    await source().createIndexes([{ key: { k: 1 } }]);
    await source().insertMany(items(300));
    await shop.collection<Item>('plain').insertMany(items(20));
    const shardingEntries = ['shop.items', 'shop.late', 'other.moved'].map((ns) =>
      shardingEntry(ns, { k: 1 }),
    );
    await using syncer = await pair.syncing({ sharding: { shardingEntries } });
    await source().rename('renamed');
    await shop.collection<Item>('late').insertMany(items(40));
    await shop.collection('late').createIndexes([{ key: { k: 1 } }]);
    await source().createIndexes([{ key: { k: 1 } }]);
    await source().insertMany(items(100, 1000));
    await shop.collection('renamed').createIndexes([{ key: { a: 1 } }]);
    await shop.collection('renamed').dropIndex('k_1');
    await shop.collection('plain').rename('unsharded');
    await source().drop();
    await source().insertMany(items(30));
    await source().createIndexes([{ key: { k: 1, region: 1 } }]);
    await pair.source.client
      .db('admin')
      .command({ renameCollection: 'shop.unsharded', to: 'other.plain' });
    await pair.source.client.db('shop').collection<Item>('to-move').insertMany(items(25));
    await pair.source.client
      .db('admin')
      .command({ renameCollection: 'shop.to-move', to: 'other.moved' });
    await pair.source.client
      .db('admin')
      .command({ renameCollection: 'shop.late', to: 'other.late' });
    await pair.source.client
      .db('other')
      .collection('moved')
      .createIndexes([{ key: { k: 1 } }]);
    await syncer.waitFor(({ lagTimeSeconds }) => (lagTimeSeconds ?? 9) <= 1);
    await commitAndWait(syncer);
    assert.deepEqual(await pair.shardKey('shop.items'), { k: 1 });
    assert.deepEqual(await pair.shardKey('shop.renamed'), { k: 1 });
    assert.equal(await pair.shardKey('other.moved'), undefined);
    assert.match(
      (await syncer.progress()).warnings?.join() ?? '',
      /renamed to other\.moved, .* stays unsharded/,
    );
    // Its shard key needs an index where the source has none by now.
    const indexes = await pair.destination.client.db('shop').collection('renamed').indexes();
    assert.deepEqual(
      indexes.map(({ name }) => name),
      ['_id_', 'a_1', 'k_1'],
    );
    await pair.destination.client.db('shop').collection('renamed').drop();
    await shop.collection('renamed').drop();
    await pair.assertEqual();
  });

  it('waits for what shards still do for a process before it', async () => {
    await using destination = createClusterClient({
      uri: pair.destination.cluster.uri('syncer'),
      option: 'cluster1',
      appName: 'tests',
    });
    await connectCluster(destination, AbortSignal.timeout(120_000));
    await copy().insertOne({ _id: 1 });
    const slow = await slowOnShards(
      pair.destination,
      ['_shardsvrDropCollectionParticipant'],
      5_000,
    );
    const monitor = new SyncMonitor();
    const logged: string[] = [];
    const logger = createLogger('syncer', 'info', (line) => logged.push(line));
    const dropping = copy().drop();
    try {
      const signal = AbortSignal.timeout(120_000);
      await until('it waits', async () => {
        const { shards } = pair.destination.cluster;
        const deployment = deploymentOf(destination, { kind: 'sharded', shards });
        await awaitEarlierWrites({ destination: deployment, signal, logger, monitor });
        return logged.length > 0;
      });
      assert.equal(await copy().countDocuments(), 0);
      const listed = pair.destination.client.db('shop').listCollections({ name: 'items' });
      assert.deepEqual(await listed.toArray(), []);
    } finally {
      await slow[Symbol.asyncDispose]();
      await dropping;
    }
  });
});
