import assert from 'node:assert/strict';
import type { Document } from 'mongodb';
import type { SyncerProgress } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { builtIndexes } from './built-indexes.ts';
import { commitAndWait, forward } from './cluster-pair.ts';
import { instancesOf, startInstances, type Instances } from './instances.ts';
import { useShardedPair } from './sharded-pair.ts';
import { holdCommands } from './slow-commands.ts';

interface Row extends Document {
  readonly _id: number;
}

describe('an index of a sharded collection that is left to the commit', () => {
  const pair = useShardedPair(2, 2);
  beforeEach(async () => {
    await pair.reset();
    const { client } = pair.source;
    const admin = client.db('admin');
    await admin.command({ enableSharding: 'shop', primaryShard: 'from-0' });
    await admin.command({ shardCollection: 'shop.items', key: { _id: 'hashed' } });
    const rows = Array.from({ length: 200 }, (_, n) => ({ _id: n, a: n, b: -n }));
    await client.db('shop').collection<Row>('items').insertMany(rows);
  });

  const cases: readonly (readonly [string, () => Promise<Instances>])[] = [
    ['one instance', async () => instancesOf([await pair.syncer()])],
    ['an instance for each shard', async () => await startInstances(pair)],
  ];
  for (const [who, start] of cases) {
    it(`is told of, and built on all shards while changes flow, by ${who}`, async () => {
      await using instances = await start();
      for (const one of instances.all) await one.start(forward);
      await instances.waitFor(({ canCommit }) => canCommit);
      const items = pair.source.client.db('shop').collection<Row>('items');
      const copies = pair.destination.client.db('shop').collection<Row>('items');
      // On one shard alone, and on the destination alone.
      await copies.insertOne({ _id: -1, a: [1, 2], b: [1, 2] });
      await items.createIndexes([{ key: { a: 1, b: 1 }, name: 'two' }]);
      await until(
        'all tell of it',
        async () => (await tellingOf(instances)) === instances.all.length,
      );
      await items.insertOne({ _id: 1_000, a: 1, b: 1 });
      await until(
        'a change beside it',
        async () => (await copies.countDocuments({ _id: 1_000 })) === 1,
      );
      assert.ok(Object.values(await indexesOnShards()).some((names) => !names.includes('two')));

      await copies.deleteOne({ _id: -1 });
      await until('it is built on all shards', async () =>
        Object.values(await indexesOnShards()).every((names) => names.includes('two')),
      );
      await until('nobody tells of it', async () => (await tellingOf(instances)) === 0);
      for (const { state } of await progressOf(instances)) assert.equal(state, 'RUNNING');
      await instances.waitFor(({ canCommit }) => canCommit);
      await instances.commit();
      await instances.waitFor(({ state }) => state === 'COMMITTED');
      await pair.assertEqual();
    });
  }

  const options = { partitionMebibytes: 0.001 };
  const casesOfLarge: readonly (readonly [string, () => Promise<Instances>])[] = [
    ['one instance', async () => instancesOf([await pair.syncer({ options })])],
    ['an instance for each shard', async () => await startInstances(pair, { options })],
  ];
  for (const [who, start] of casesOfLarge) {
    it(`is built on all shards where the collection is large, by ${who}`, async () => {
      await using instances = await start();
      for (const one of instances.all) await one.start(forward);
      await instances.waitFor(({ canCommit }) => canCommit);
      const items = pair.source.client.db('shop').collection<Row>('items');
      const { cluster } = pair.destination;
      {
        await using held = await holdCommands(
          { client: cluster.shardClient(cluster.shards[0] ?? '') },
          'createIndexes',
          'shop.items',
        );
        await items.createIndexes([{ key: { a: 1, b: 1 }, name: 'two' }]);
        await held.reached(1);
        await items.insertOne({ _id: 1_000, a: 1, b: 1 });
        const copies = pair.destination.client.db('shop').collection<Row>('items');
        await until('a change', async () => (await copies.countDocuments({ _id: 1_000 })) === 1);
        await until(
          'all tell of it',
          async () => (await tellingOf(instances)) === instances.all.length,
        );
      }
      await until('it is built on all shards', async () =>
        Object.values(await indexesOnShards()).every((names) => names.includes('two')),
      );
      await until('nobody tells of it', async () => (await tellingOf(instances)) === 0);
      await instances.waitFor(({ canCommit }) => canCommit);
      await instances.commit();
      await instances.waitFor(({ state }) => state === 'COMMITTED');
      await pair.assertEqual();
    });
  }

  it('does not stop the sharding of a large collection by the key that it is for', async () => {
    const { client } = pair.source;
    const rows = Array.from({ length: 200 }, (_, n) => ({ _id: n, a: n }));
    await client.db('shop').collection<Row>('later').insertMany(rows);
    await using syncer = await pair.syncer({ options });
    await syncer.start(forward);
    await syncer.waitFor(({ canCommit }) => canCommit);
    const { cluster } = pair.destination;
    {
      const shards = cluster.shards.map((shard) => ({ client: cluster.shardClient(shard) }));
      await using held = new AsyncDisposableStack();
      for (const shard of shards)
        held.use(await holdCommands(shard, 'createIndexes', 'shop.later'));
      await client
        .db('shop')
        .collection('later')
        .createIndexes([{ key: { a: 1 }, name: 'key' }]);
      await until('it is told of', async () =>
        String((await syncer.progress()).warnings).includes('index key of shop.later is built'),
      );
    }
    await client.db('admin').command({ shardCollection: 'shop.later', key: { a: 1 } });
    await client.db('shop').collection<Row>('later').insertOne({ _id: 1_000, a: 1_000 });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('that supports a refined shard key is built for it where the temporary one has the former key', async () => {
    const { client } = pair.source;
    const admin = client.db('admin');
    await admin.command({ shardCollection: 'shop.refined', key: { a: 1 } });
    const refined = client.db('shop').collection<Row>('refined');
    await refined.insertMany(Array.from({ length: 10 }, (_, n) => ({ _id: n, a: n, b: n })));
    await using syncer = await pair.syncer();
    await syncer.start({ ...forward, buildIndexes: 'never' });
    await syncer.waitFor(({ canCommit }) => canCommit);
    await refined.createIndexes([{ key: { a: 1, b: 1 }, name: 'longer' }]);
    await admin.command({ refineCollectionShardKey: 'shop.refined', key: { a: 1, b: 1 } });
    await refined.insertOne({ _id: 10, a: 10, b: 10 });
    await commitAndWait(syncer);
    const collections = pair.destination.client.db('config').collection('collections');
    const sharded = await collections.findOne({ _id: 'shop.refined' } as Document);
    assert.deepEqual(sharded?.['key'], { a: 1, b: 1 });
  });

  /** How many instances have it in their warnings. */
  async function tellingOf(instances: Instances): Promise<number> {
    const all = await progressOf(instances);
    return all.filter(({ warnings }) =>
      warnings?.some((text) => /index two of shop\.items .*is (left to|built)/.test(text)),
    ).length;
  }

  async function progressOf({ all }: Instances): Promise<readonly SyncerProgress[]> {
    return await Promise.all(all.map(async (one) => await one.progress()));
  }

  async function indexesOnShards(): Promise<Readonly<Record<string, readonly string[]>>> {
    const { cluster } = pair.destination;
    const shards = cluster.shards.map(async (shard) => {
      return [shard, await builtIndexes(cluster.shardClient(shard).db('shop'), 'items')] as const;
    });
    return Object.fromEntries(await Promise.all(shards));
  }
});
