import { MongoClient } from 'mongodb';
import { shopDatabase } from './shop-collections.ts';

/** Shard keys of the sample data, each with a value in its middle. The other collections stay unsharded. */
const shardKeys = [
  { name: 'orders', key: { customer: 1 }, middle: { customer: 20_000 } },
  { name: 'reviews', key: { product: 1 }, middle: { product: 500 } },
  { name: 'sessions', key: { _id: 'hashed' }, middle: undefined },
] as const;

/** Shards collections of the sample data that have been loaded, over the first two shards of a cluster. */
export async function shardShop(uri: string): Promise<void> {
  await using client = new MongoClient(uri);
  const admin = client.db('admin');
  const { shards } = await admin.command({ listShards: 1 });
  const [, second] = shards as readonly { readonly _id: string }[];
  for (const { name, key, middle } of shardKeys) {
    const ns = `${shopDatabase}.${name}`;
    if (middle === undefined)
      await client.db(shopDatabase).collection(name).createIndexes([{ key }]);
    await admin.command({ shardCollection: ns, key });
    if (middle === undefined || second === undefined) continue;
    await admin.command({ split: ns, middle });
    await admin.command({ moveChunk: ns, find: middle, to: second._id, _waitForDelete: true });
  }
}
