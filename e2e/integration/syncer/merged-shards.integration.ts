import assert from 'node:assert/strict';
import type { Document } from 'mongodb';
import { until } from '../../ground/until.ts';
import { verifyOnce } from '../verifier/verifier-session.ts';
import { commitAndWait, indexOf, namespacesOf } from './cluster-pair.ts';
import { instancesOf, startInstances, type Instances } from './instances.ts';
import { useMergedPair } from './merged-pair.ts';
import { delayNext, holdCommands } from './slow-commands.ts';

interface Item extends Document {
  _id: string | number;
}

const items = (count: number, first = 0): Item[] =>
  Array.from({ length: count }, (_, n) => ({ _id: first + n, k: (first + n) * 7, v: 'a' }));

const simple = { locale: 'simple' };

describe('a sharded cluster synced into a replica set', () => {
  const pair = useMergedPair(2, { keepsOrphans: true });
  const shop = () => pair.source.client.db('shop');
  const source = () => shop().collection<Item>('items');
  const copies = () => pair.destination.client.db('shop').collection<Item>('items');

  beforeEach(async () => {
    await pair.reset();
  });

  /** One instance for the whole source, or one for each shard. */
  async function start(isShared: boolean, body: object = {}): Promise<Instances> {
    const settings = { options: { partitionMebibytes: 0.01 } };
    const instances = isShared
      ? await startInstances(pair, settings)
      : instancesOf([await pair.syncer(settings)]);
    await instances.start(body);
    return instances;
  }

  async function commit(instances: Instances): Promise<void> {
    await instances.waitFor(({ canCommit }) => canCommit);
    await instances.commit();
    await instances.waitFor(({ state }) => state === 'COMMITTED');
  }

  /** Compares with both means: the tests' own, and the verifier. */
  async function assertEqual(documents: number): Promise<void> {
    await pair.assertEqual();
    const { progress } = await verifyOnce({
      srcURI: pair.source.uri('syncer'),
      destURI: pair.destination.set.uri('syncer'),
      metaURI: pair.destination.set.uri('admin'),
    });
    assert.deepEqual(progress.mismatches, []);
    assert.equal(progress.verdict, 'equal');
    assert.equal(progress.documentsCompared, documents);
  }

  /** Moves documents to the other shard, some back again, deletes and inserts them, in a transaction too. */
  async function change(first: number): Promise<void> {
    for (let _id = first; _id < first + 20; _id++) {
      const k = _id * 7;
      await source().updateOne({ _id, k }, { $set: { k: 8_400 - k } });
      await source().updateOne({ _id, k: 8_400 - k }, { $set: { v: `moved ${first}` } });
      if (_id % 3 === 0) await source().updateOne({ _id, k: 8_400 - k }, { $set: { k } });
      if (_id % 5 === 0) await source().deleteOne({ _id });
      if (_id % 10 === 0) await source().insertOne({ _id, k: 8_400 - k, v: 'again' });
    }
    await pair.source.client.withSession(async (session) => {
      await session.withTransaction(async () => {
        const [low, high] = [first + 20, first + 620];
        await source().updateOne({ _id: low, k: low * 7 }, { $set: { v: 't' } }, { session });
        await source().deleteOne({ _id: high, k: high * 7 }, { session });
        await source().insertOne({ _id: high, k: low * 7 + 1, v: 't' }, { session });
      });
    });
  }

  for (const isShared of [false, true]) {
    const by = isShared ? 'one instance for each shard' : 'one instance';
    it(`has every document once, indexes, views, and no shard keys, by ${by}`, async () => {
      await pair.halves('shop.items', 2100);
      await source().insertMany(items(600));
      await source().createIndexes([
        { key: { k: 1, v: 1 }, unique: true, name: 'unique' },
        { key: { v: 1 }, name: 'hidden', hidden: true },
      ]);
      await shop().createCollection('collated', { collation: { locale: 'en', strength: 2 } });
      await shop()
        .collection('collated')
        .createIndexes([{ key: { k: 1 }, collation: simple }]);
      await pair.admin({ shardCollection: 'shop.collated', key: { k: 1 }, collation: simple });
      await shop().collection<Item>('collated').insertMany(items(50));
      const keys = { hashed: { k: 'hashed' }, compound: { v: 1, k: 1 }, ids: { _id: 'hashed' } };
      for (const [name, key] of Object.entries(keys)) {
        await pair.admin({ shardCollection: `shop.${name}`, key });
        await shop().collection<Item>(name).insertMany(items(300));
      }
      await pair.admin({ enableSharding: 'elsewhere', primaryShard: 'from-1' });
      await pair.source.client.db('elsewhere').collection<Item>('plain').insertMany(items(20));
      await shop().createCollection('capped', { capped: true, size: 4096 });
      await shop().createCollection('view', { viewOn: 'items', pipeline: [{ $match: { k: 7 } }] });
      await using instances = await start(isShared);
      const copied = await instances.waitFor(({ canCommit }) => canCommit);
      const ids = copied.map(({ syncerID }) => syncerID);
      assert.deepEqual(ids, isShared ? ['from-0', 'from-1'] : ['syncer']);
      const bytes = copied.map(({ collectionCopy }) => collectionCopy?.estimatedCopiedBytes ?? 0);
      const total = copied[0]?.collectionCopy?.estimatedTotalBytes;
      assert.equal(
        bytes.reduce((sum, part) => sum + part, 0),
        total,
      );
      await source().updateMany({}, { $set: { v: 'b' } });
      await shop()
        .collection('hashed')
        .deleteMany({ k: { $lt: 70 } });
      await shop().collection<Item>('collated').insertMany(items(10, 100));
      await commit(instances);
      assert.equal(await copies().countDocuments({ v: 'b' }), 600);
      const kept = await indexOf(pair.destination, 'shop', 'items', 'k_1');
      assert.deepEqual(kept?.['key'], { k: 1 });
      await assertEqual(600 + 60 + 290 + 300 + 300 + 20);
    });

    it(`follows the catalog, what is sharded meanwhile too, by ${by}`, async () => {
      await pair.halves('shop.items', 350);
      await source().insertMany(items(100));
      await using instances = await start(isShared);
      await instances.waitFor(({ canCommit }) => canCommit);
      await pair.halves('shop.later', 350);
      await shop().collection<Item>('later').insertMany(items(100));
      await shop().collection<Item>('unsharded').insertMany(items(20));
      await source().createIndexes([
        { key: { v: 1 }, name: 'v', hidden: true },
        { key: { k: 1, v: 1 } },
      ]);
      await shop().command({ collMod: 'items', index: { name: 'v', hidden: false } });
      await source().dropIndex('k_1_v_1');
      await shop().command({ collMod: 'items', validator: { k: { $exists: true } } });
      await source().rename('renamed');
      await pair.halves('shop.items', 70);
      await source().insertMany(items(30, 1000));
      await shop().collection('later').rename('items', { dropTarget: true });
      await shop().collection<Item>('unsharded').insertMany(items(20, 100));
      await pair.admin({ shardCollection: 'shop.unsharded', key: { _id: 1 } });
      await shop().collection<Item>('unsharded').insertMany(items(20, 200));
      await shop().createCollection('hashed');
      await pair.admin({ shardCollection: 'shop.hashed', key: { k: 'hashed' } });
      await shop().collection<Item>('hashed').insertMany(items(40));
      await pair.halves('gone.items', 7);
      await pair.source.client.db('gone').collection<Item>('items').insertMany(items(5));
      await pair.source.client.db('gone').dropDatabase();
      await pair.halves('moves.items', 350);
      await pair.source.client.db('moves').collection<Item>('items').insertMany(items(100));
      await pair.admin({ moveChunk: 'moves.items', find: { k: 0 }, to: 'from-1' });
      await pair.source.client
        .db('moves')
        .collection<Item>('items')
        .updateMany({}, { $set: { v: 'after the move' } });
      await commit(instances);
      assert.deepEqual(await namespacesOf(pair.destination), [
        'moves.items',
        'shop.hashed',
        'shop.items',
        'shop.renamed',
        'shop.unsharded',
      ]);
      assert.ok(await indexOf(pair.destination, 'shop', 'hashed', 'k_hashed'));
      await assertEqual(100 + 40 + 100 + 100 + 60);
    });

    it(`follows resharding, in mid-copy and later, and a refined shard key, by ${by}`, async () => {
      const other = () => shop().collection<Item>('other');
      for (const name of ['items', 'other']) {
        await pair.halves(`shop.${name}`, 2100);
        await shop().collection<Item>(name).insertMany(items(600));
      }
      const reshard = async (name: string): Promise<void> => {
        const key = { _id: 'hashed' };
        const command = { reshardCollection: `shop.${name}`, key, numInitialChunks: 2 };
        await pair.admin(command);
      };
      const held = await holdCommands(pair.destination, 'insert', 'shop.items');
      await using instances = await start(isShared);
      try {
        await held.reached(1);
        await reshard('items');
      } finally {
        await held[Symbol.asyncDispose]();
      }
      await source().updateMany({}, { $set: { v: 'b' } });
      await instances.waitFor(({ canCommit }) => canCommit);
      await reshard('other');
      await other().updateMany({}, { $set: { v: 'b' } });
      await source().insertMany(items(50, 600));
      await other().createIndexes([{ key: { k: 1, v: 1 }, name: 'after' }]);
      await other().rename('renamed');
      await source().createIndexes([{ key: { _id: 'hashed', k: 1 } }]);
      await pair.admin({ refineCollectionShardKey: 'shop.items', key: { _id: 'hashed', k: 1 } });
      await source().updateMany({ k: { $lt: 700 } }, { $set: { v: 'c' } });
      await source().insertMany(items(50, 650));
      await commit(instances);
      assert.equal(await copies().countDocuments({ v: 'c' }), 100);
      assert.ok(await indexOf(pair.destination, 'shop', 'renamed', 'after'));
      await assertEqual(700 + 600);
    });

    it(`follows documents from shard to shard, through kills, by ${by}`, async () => {
      await pair.halves('shop.items', 4200);
      await source().insertMany(items(1_200));
      await using instances = await start(isShared);
      const [one] = instances.all;
      assert.ok(one);
      await change(0);
      await one.kill('SIGKILL');
      await change(50);
      await one.restart();
      await instances.waitFor(({ canCommit }) => canCommit);
      await change(100);
      await one.kill('SIGKILL');
      await change(150);
      await one.restart();
      await commit(instances);
      // Of each twenty, two are deleted for good.
      await assertEqual(1_200 - 8);
    });
  }

  it('waits for what a killed coordinator has sent, before another one coordinates', async () => {
    await pair.halves('shop.items', 350);
    await source().insertMany(items(100));
    await using instances = await start(true);
    const [{ coordinatorID } = { coordinatorID: null }] = await instances.waitFor(
      ({ canCommit, coordinatorID: id }) => canCommit && id !== null,
    );
    const [first, second] = instances.all;
    const [coordinator, other] = coordinatorID === 'from-0' ? [first, second] : [second, first];
    assert.ok(coordinator && other);
    // For longer than its lease.
    const sent = await delayNext(pair.destination, 'renameCollection', 22_000, {
      id: coordinatorID ?? '',
    });
    await source().rename('renamed');
    await sent();
    await coordinator.kill('SIGKILL');
    // That of the operation: it stays open until the server has ended it.
    await other.waitFor(
      ({ warnings }) =>
        (warnings?.join() ?? '').includes('has not completed 1 earlier connections'),
      { deadlineMs: 60_000 },
    );
    await coordinator.restart();
    await commit(instances);
    assert.deepEqual(await namespacesOf(pair.destination), ['shop.renamed']);
    await assertEqual(100);
  });

  it('never takes a migrated document, or what it has left behind, for another one', async () => {
    const others = () => shop().collection<Item>('others');
    const onShard = pair.source.ground?.cluster.shardClient('from-0').db('shop');
    for (const [name, documents] of Object.entries({ items: source(), others: others() })) {
      await pair.halves(`shop.${name}`, 350);
      await documents.insertMany(items(100));
    }
    const move = async (name: string): Promise<void> => {
      await pair.admin({ moveChunk: `shop.${name}`, find: { k: 0 }, to: 'from-1' });
      const documents = shop().collection<Item>(name);
      await documents.updateMany({ k: { $lt: 350 } }, { $set: { v: 'after the move' } });
      const orphans = await onShard?.collection(name).countDocuments({ k: { $lt: 350 }, v: 'a' });
      assert.equal(orphans, 50);
    };
    await move('items');
    await using syncer = await pair.syncing({});
    await move('others');
    // Refused as inserts on the destination, which asks the source about each.
    for (const documents of [source(), others()])
      for (let _id = 0; _id < 20; _id++)
        await documents.updateOne({ _id, k: _id * 7 }, { $set: { k: 1_000 + _id } });
    const isThere = async (): Promise<boolean> =>
      (await copies().countDocuments({ k: { $gte: 1_000 } })) === 20;
    await until('the last changes', isThere);
    await commitAndWait(syncer);
    await assertEqual(200);
  });
});
