import assert from 'node:assert/strict';
import { Double, Long, MongoClient, type Db } from 'mongodb';
import { assertEqualClusters, countAndHash, findDifferences } from './compare.ts';
import { startReplicaSet, type ReplicaSet } from './mongod/replica-set.ts';

describe('compare', () => {
  let sets: readonly [ReplicaSet, ReplicaSet];
  let clients: readonly [MongoClient, MongoClient];
  let uris: readonly [string, string];

  before(async () => {
    sets = await Promise.all([
      startReplicaSet({ members: 1 }),
      startReplicaSet({ members: 1, side: 'destination' }),
    ]);
    uris = [sets[0].uri('admin'), sets[1].uri('admin')];
    clients = [new MongoClient(uris[0]), new MongoClient(uris[1])];
  });
  after(async () => {
    await Promise.all(
      clients.map(async (client) => {
        await client.close();
      }),
    );
    await Promise.all(
      sets.map(async (set) => {
        await set.stop();
      }),
    );
  });
  beforeEach(async () => {
    for (const client of clients) {
      await client.db('shop').dropDatabase();
      await client.db('extra').dropDatabase();
      await fill(client.db('shop'));
    }
  });

  /** Does something on the destination alone and expects one difference. */
  async function expectDifference(
    change: (shop: Db) => Promise<unknown>,
    namespace: string,
    kind: RegExp,
    id?: string,
  ): Promise<void> {
    await change(clients[1].db('shop'));
    const [difference, ...others] = await findDifferences(...uris);
    assert.deepEqual(others, []);
    assert.equal(difference?.namespace, namespace);
    assert.equal(difference.id, id);
    assert.match(difference.kind, kind);
  }

  it('finds equal clusters equal, with types mixed in _id, views, capped collections, indexes', async () => {
    await assertEqualClusters(...uris);
    assert.deepEqual(await countAndHash(uris[0]), await countAndHash(uris[1]));
  });

  it('counts and hashes', async () => {
    const [digest, ...others] = await countAndHash(uris[0], { exclude: ['shop.log'] });
    assert.deepEqual(others, []);
    assert.equal(digest?.namespace, 'shop.items');
    assert.equal(digest.documents, 5);
    assert.equal(digest.indexes, 3);
    assert.match(digest.sha256, /^[0-9a-f]{64}$/);
    await clients[0]
      .db('shop')
      .collection('items')
      .updateOne({ a: 3 }, { $set: { a: 4 } });
    assert.notEqual((await countAndHash(uris[0]))[0]?.sha256, digest.sha256);
  });

  it('finds a missing document', async () => {
    await expectDifference(
      async (shop) => await shop.collection('items').deleteOne({ a: 3 }),
      'shop.items',
      /^missing on the destination$/,
      '"text"',
    );
  });

  it('finds a document too many', async () => {
    await expectDifference(
      async (shop) =>
        await shop.collection('items').insertOne({ _id: Long.fromNumber(9) as never }),
      'shop.items',
      /^not on the source$/,
      '{"$numberLong":"9"}',
    );
  });

  it('finds another type of an equal number', async () => {
    await expectDifference(
      async (shop) =>
        await shop.collection('items').updateOne({ a: 3 }, { $set: { a: new Double(3) } }),
      'shop.items',
      /^other bytes$/,
      '"text"',
    );
  });

  it('finds another order of fields', async () => {
    await expectDifference(
      async (shop) => {
        await shop.collection('items').replaceOne({ a: 1 }, { b: 1, a: 1 });
      },
      'shop.items',
      /^other bytes$/,
      '{"$numberInt":"1"}',
    );
  });

  it('finds another order in a capped collection', async () => {
    await expectDifference(
      async (shop) => {
        await shop.collection('log').drop();
        await shop.createCollection('log', { capped: true, size: 4096 });
        await shop.collection('log').insertMany([{ _id: 1 as never }, { _id: 2 as never }]);
      },
      'shop.log',
      /^the same documents of a capped collection in another order$/,
    );
  });

  it('finds other options, of collections and of views', async () => {
    await expectDifference(
      async (shop) => await shop.command({ collMod: 'items', validationLevel: 'moderate' }),
      'shop.items',
      /^options/,
    );
    await clients[1].db('shop').command({ collMod: 'items', validationLevel: 'strict' });
    await clients[1].db('shop').command({ collMod: 'cheap', viewOn: 'items', pipeline: [] });
    assert.deepEqual((await findDifferences(...uris)).length, 2, 'validationLevel is set now');
  });

  it('finds missing, other and additional indexes', async () => {
    const items = clients[1].db('shop').collection('items');
    await items.dropIndex('b_1');
    await items.dropIndex('a_1');
    await items.createIndexes([{ key: { a: 1 } }]);
    await items.createIndexes([{ key: { c: 1 } }]);
    const kinds = (await findDifferences(...uris)).map(({ kind }) => kind);
    assert.match(kinds.join('\n'), /index b_1 is missing/);
    assert.match(kinds.join('\n'), /index a_1 is .*"unique"/);
    assert.match(kinds.join('\n'), /index c_1 is not on the source/);
    assert.equal(kinds.length, 3);
  });

  it('does not mind the order of indexes', async () => {
    const items = clients[1].db('shop').collection('items');
    await items.dropIndex('a_1');
    await items.createIndexes([{ key: { a: 1 }, unique: true }]);
    await assertEqualClusters(...uris);
  });

  it('finds collections that are on one side alone, unless they are excluded', async () => {
    await clients[0].db('extra').collection('one').insertOne({});
    await clients[1].db('extra').collection('two').insertOne({});
    await assert.rejects(
      assertEqualClusters(...uris),
      /2 differences:\n {2}extra\.one: missing on the destination\n {2}extra\.two: not on the source$/,
    );
    await assertEqualClusters(...uris, { exclude: ['extra'] });
    await assertEqualClusters(...uris, { exclude: ['extra.one', 'extra.two'] });
  });

  it('stops at 20 differences', async () => {
    const many = Array.from({ length: 30 }, (_, index) => ({ _id: index as never }));
    await clients[0].db('extra').collection('many').insertMany(many);
    await clients[1].db('extra').createCollection('many');
    await assert.rejects(assertEqualClusters(...uris), /20 or more differences/);
  });
});

async function fill(shop: Db): Promise<void> {
  await shop.createCollection('items', { collation: { locale: 'en', strength: 2 } });
  const items = shop.collection('items');
  await items.insertMany([
    { _id: 1 as never, a: 1, b: 1 },
    { _id: 'text' as never, a: 3 },
    { _id: { x: 1 } as never, a: 5 },
    { _id: new Date(0) as never, a: 6 },
    { _id: true as never, a: 7 },
  ]);
  await items.createIndexes([{ key: { a: 1 }, unique: true }]);
  await items.createIndexes([{ key: { b: 1 }, expireAfterSeconds: 3600 }]);
  await shop.createCollection('cheap', { viewOn: 'items', pipeline: [{ $match: { a: 1 } }] });
  await shop.createCollection('log', { capped: true, size: 4096 });
  await shop.collection('log').insertMany([{ _id: 2 as never }, { _id: 1 as never }]);
}
