import type { Collection, MongoClient } from 'mongodb';
import type { Item } from '../../ground/sharded/use-sharded-cluster.ts';

/**
 * Changes documents in every way that the shard key `k` can change: to other shards and back, to none, to other types, with the
 * document, in a transaction.
 * @param first - the least of the ids of 300 documents that are there.
 */
export async function changeShardKeys(
  client: MongoClient,
  items: Collection<Item>,
  first: number,
): Promise<void> {
  const at = (n: number): { _id: number } => ({ _id: first + n });
  // To another shard, and back.
  for (let n = 0; n < 20; n++) await items.updateOne(at(n), { $set: { k: 6300 - n } });
  for (let n = 0; n < 10; n++) await items.updateOne(at(n), { $set: { k: n, again: true } });
  await items.updateOne(at(20), { $unset: { k: '' } });
  await items.updateOne(at(21), { $set: { k: null } });
  await items.updateOne(at(22), { $set: { k: 'a text' } });
  await items.replaceOne(at(23), { k: 1, replaced: true });
  await items.replaceOne(at(24), { replaced: 'without the key' });
  await items.updateOne(at(25), { $inc: { k: 1.5 } });
  await items.deleteOne(at(26));
  await items.deleteOne(at(27));
  await items.insertOne({ ...at(27), k: 5000 });
  await items.findOneAndUpdate(at(28), [{ $set: { k: { $multiply: ['$k', -1] } } }]);
  await items.updateOne(at(1_000_000), { $set: { k: 12 } }, { upsert: true });
  await items.updateOne({ _id: `u${first}` }, { $set: { v: 1 } }, { upsert: true });
  await items.updateMany({ _id: { $gt: first + 40, $lt: first + 60 } }, { $mul: { k: -1 } });
  await client.withSession(async (session) => {
    await session.withTransaction(async () => {
      await items.updateOne(at(30), { $set: { k: 4200 } }, { session });
      await items.deleteOne(at(31), { session });
      await items.insertOne({ ...at(2_000_000), k: 3 }, { session });
    });
  });
}
