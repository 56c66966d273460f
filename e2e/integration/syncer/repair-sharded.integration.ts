import assert from 'node:assert/strict';
import { MongoBulkWriteError, type Collection, type Document } from 'mongodb';
import { commitAndWait } from './cluster-pair.ts';
import { shardingEntry, useShardedPair } from './sharded-pair.ts';

interface Item extends Document {
  _id: number;
  k: number;
}

const itemCount = 600;

describe('a repair on shards', () => {
  const pair = useShardedPair(3);

  beforeEach(async () => {
    await pair.reset();
  });

  it('leaves chunks where they are, and one of the documents that have the same _id on several shards', async () => {
    const shop = pair.source.client.db('shop');
    await shop
      .collection<Item>('items')
      .insertMany(Array.from({ length: itemCount }, (_, n) => ({ _id: n, k: n })));
    await shop.collection('items').createIndexes([{ key: { k: 1 }, name: 'k_1' }]);
    await using syncer = await pair.syncing({ sharding: { shardingEntries } });
    const [first, second] = await chunks();
    assert.ok(first && second);
    assert.notEqual(first['shard'], second['shard']);
    const bounds = [first['min'], first['max']];
    const to: unknown = second['shard'];
    await pair.destination.admin({ moveChunk: 'shop.items', bounds, to, _waitForDelete: true });
    const moved = await chunks();
    // Those that are on another shard than their twins keep chunks from moving.
    const twins = Array.from({ length: itemCount }, (_, n) => ({
      _id: n,
      k: ((n + itemCount / 3) % itemCount) + 0.5,
    }));
    const inserted = await insertPossible(
      pair.destination.client.db('shop').collection<Item>('items'),
      twins,
    );
    assert.ok(inserted > itemCount / 2, `${inserted} twins`);

    assert.equal((await syncer.post('repair', {})).status, 200);
    const { reconciliation } = await syncer.waitFor(
      ({ canCommit, repairs }) => canCommit && repairs === 1,
    );
    assert.equal(reconciliation?.changedDocuments, inserted);
    assert.deepEqual(await chunks(), moved);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  for (const where of ['on one shard', 'on several'])
    it(`copies as a whole what is there, sharded by a unique key, ${where}`, async () => {
      const items = Array.from({ length: itemCount }, (_, n) => ({ _id: n, k: n }));
      const [source, copy] = [pair.source, pair.destination].map(({ client }) =>
        client.db('shop').collection<Item>('items'),
      );
      assert.ok(source && copy);
      await source.insertMany(items);
      await source.createIndexes([{ key: { k: 1 }, name: 'k_1' }]);
      await pair.destination.admin({ shardCollection: 'shop.items', key: { k: 1 }, unique: true });
      await copy.insertMany(items.slice(1));
      if (where === 'on several') {
        await pair.destination.admin({ split: 'shop.items', middle: { k: itemCount / 2 } });
        const [first] = await chunks();
        const { _id: to } = await otherShard(first?.['shard']);
        const bounds = [first?.['min'], first?.['max']];
        await pair.destination.admin({ moveChunk: 'shop.items', bounds, to, _waitForDelete: true });
      }
      const sharding = { shardingEntries };
      await using syncer = await pair.syncing({ initialData: 'Present', sharding });
      // Two documents of one key, for a moment.
      await source.updateOne({ _id: 1 }, { $set: { k: 2 } });
      await source.updateOne({ _id: 2 }, { $set: { k: 1 } });
      await syncer.waitFor(({ canCommit }) => canCommit);
      await commitAndWait(syncer);
      await pair.assertEqual();
    });

  /** A shard of the destination that is not this one. */
  async function otherShard(shard: unknown): Promise<{ readonly _id: string }> {
    const shards = pair.destination.client.db('config').collection<{ _id: string }>('shards');
    const found = await shards.findOne({ _id: { $ne: shard as string } });
    assert.ok(found);
    return found;
  }

  /** The bounds and shards of the destination's chunks, in order. */
  async function chunks(): Promise<readonly Document[]> {
    const config = pair.destination.client.db('config');
    const placed = await config
      .collection<{ _id: string }>('collections')
      .findOne({ _id: 'shop.items' });
    assert.ok(placed);
    const found = config
      .collection('chunks')
      .find({ uuid: (placed as Document)['uuid'] as unknown });
    return await found.project({ _id: 0, min: 1, max: 1, shard: 1 }).sort({ min: 1 }).toArray();
  }
});

const shardingEntries = [shardingEntry('shop.items', { k: 1 })];

/** Inserts documents, except those that their shard refuses: it has one with the `_id`. Returns how many are inserted. */
async function insertPossible(
  collection: Collection<Item>,
  items: readonly Item[],
): Promise<number> {
  try {
    return (await collection.insertMany(items, { ordered: false })).insertedCount;
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError) || error.code !== 11_000) throw error;
    return error.insertedCount;
  }
}
