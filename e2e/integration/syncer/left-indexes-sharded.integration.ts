import assert from 'node:assert/strict';
import type { Document } from 'mongodb';
import type { SyncerProgress } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { forward } from './cluster-pair.ts';
import { instancesOf, startInstances, type Instances } from './instances.ts';
import { useShardedPair } from './sharded-pair.ts';

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

  /** How many instances have it in their warnings. */
  async function tellingOf(instances: Instances): Promise<number> {
    const all = await progressOf(instances);
    return all.filter(({ warnings }) =>
      warnings?.some((text) => /index two of shop\.items .*is left to/.test(text)),
    ).length;
  }

  async function progressOf({ all }: Instances): Promise<readonly SyncerProgress[]> {
    return await Promise.all(all.map(async (one) => await one.progress()));
  }

  /** Those that are built: one that is being built, and may yet be refused, is in the list, too. */
  async function indexesOnShards(): Promise<Readonly<Record<string, readonly string[]>>> {
    const { cluster } = pair.destination;
    const shards = cluster.shards.map(async (shard) => {
      const db = cluster.shardClient(shard).db('shop');
      const command = { listIndexes: 'items', includeBuildUUIDs: true };
      const all = (await db.runCursorCommand(command).toArray()) as readonly Document[];
      const built = all.filter(({ buildUUID }) => buildUUID === undefined);
      return [shard, built.map(({ name }) => String(name))] as const;
    });
    return Object.fromEntries(await Promise.all(shards));
  }
});
