import assert from 'node:assert/strict';
import { MaxKey, MongoClient, type Document } from 'mongodb';
import type { ShardedGround } from '../../ground/sharded/use-sharded-cluster.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait } from './cluster-pair.ts';
import { assertOnOneShard } from '../../ground/sharded/on-one-shard.ts';
import { failureOf, useShardedPair } from './sharded-pair.ts';
import { skipUnlessReversible } from './skip-reversal.ts';

const reversible = { reversible: true, enableUserWriteBlocking: true } as const;
const success = { status: 200, body: { success: true } };

interface Item extends Document {
  _id: string | number;
}

const items = (count: number, first = 0): Item[] =>
  Array.from({ length: count }, (_, n) => ({ _id: first + n, k: first + n, v: 'a' }));

describe('reverse between sharded clusters', () => {
  before(async function () {
    await skipUnlessReversible(this);
  });

  const pair = useShardedPair(2, 2);
  /** The old deployment, and the new one. */
  const old = (): ShardedGround => {
    const { ground } = pair.source;
    assert.ok(ground);
    return ground;
  };
  const fresh = (): ShardedGround => pair.destination;

  beforeEach(async () => {
    await pair.reset();
  });

  /** Shards a collection by a field, one half of its values on each shard. */
  async function halves(ground: ShardedGround, ns: string, middle: Document): Promise<void> {
    const [first, second] = ground.cluster.shards;
    const key = Object.fromEntries(Object.keys(middle).map((field) => [field, 1]));
    await ground.admin({ enableSharding: ns.slice(0, ns.indexOf('.')), primaryShard: first });
    await ground.admin({ shardCollection: ns, key, collation: { locale: 'simple' } });
    await ground.admin({ split: ns, middle });
    await ground.admin({ moveChunk: ns, find: middle, to: second });
  }

  async function assertEqual(): Promise<void> {
    await pair.assertEqual();
    await assertOnOneShard(old());
  }

  async function write({ cluster }: ShardedGround): Promise<'written' | 'blocked'> {
    await using client = new MongoClient(cluster.uri('app'));
    try {
      await client.db('users').collection('writes').insertOne({});
      return 'written';
    } catch {
      return 'blocked';
    }
  }

  /** Writes of an ordinary user to documents of both shards. */
  async function useAsUser({ cluster }: ShardedGround, round: number): Promise<void> {
    await using client = new MongoClient(cluster.uri('app'));
    const shop = client.db('shop');
    const collection = shop.collection<Item>('items');
    await collection.insertMany([...items(50, 1000 * round), ...items(50, -1000 * round)]);
    for (let k = 0; k < 400; k += 40) {
      const _id = k + round;
      await collection.updateOne({ _id, k: _id }, { $set: { v: 'updated' } });
      // To the other shard, and there a change.
      await collection.updateOne({ _id: _id + 1, k: _id + 1 }, { $set: { k: 399 - _id } });
      await collection.updateOne({ _id: _id + 1, k: 399 - _id }, { $set: { v: `moved ${round}` } });
      await collection.deleteOne({ _id: _id + 5, k: _id + 5 });
    }
    await client.withSession(async (session) => {
      await session.withTransaction(async () => {
        for (const k of [30 + round, 230 + round])
          await collection.updateOne({ _id: k, k }, { $set: { v: 't' } }, { session });
      });
    });
    await shop.collection<Item>('hashed').insertMany(items(30, 1000 * round));
    await shop.collection<Item>('hashed').deleteMany({ _id: { $lt: 20 * round } });
    await shop.collection<Item>('collated').deleteOne({ _id: 'A', k: 0 });
    await shop.collection<Item>('collated').insertOne({ _id: `B${round}`, k: 500 });
    await shop.collection('capped').insertMany(Array.from({ length: 40 }, (_, n) => ({ n })));
  }

  async function prepare(): Promise<void> {
    const shop = pair.source.client.db('shop');
    await halves(old(), 'shop.items', { k: 200 });
    await shop.collection<Item>('items').insertMany(items(400));
    await old().admin({ shardCollection: 'shop.hashed', key: { _id: 'hashed' } });
    await shop.collection<Item>('hashed').insertMany(items(100));
    await old().admin({ shardCollection: 'shop.marked', key: { k: 1 }, unique: true });
    await shop.collection<Item>('marked').insertMany(items(20));
    await shop.createCollection('collated', { collation: { locale: 'en', strength: 2 } });
    await halves(old(), 'shop.collated', { k: 200 }).catch(async () => {
      const simple = { locale: 'simple' };
      await shop.collection('collated').createIndexes([{ key: { k: 1 }, collation: simple }]);
      await halves(old(), 'shop.collated', { k: 200 });
    });
    await shop.collection<Item>('collated').insertMany([
      { _id: 'a', k: 0 },
      { _id: 'z', k: 300 },
    ]);
    await shop.createCollection('capped', { capped: true, size: 4096, max: 50 });
    await shop.command({
      createIndexes: 'items',
      indexes: [
        { key: { k: 1, _id: 1 }, name: 'unique', unique: true },
        { key: { v: 1 }, name: 'hidden', hidden: true },
        { key: { at: 1 }, name: 'ttl', expireAfterSeconds: 36_000 },
      ],
    });
  }

  /** Changes of the catalog after the commit, of shard keys, zones and the places of chunks too. */
  async function changeCatalog(ground: ShardedGround): Promise<void> {
    const shop = ground.client.db('shop');
    const [first, second] = ground.cluster.shards;
    await ground.admin({ moveChunk: 'shop.items', find: { k: 0 }, to: second });
    const range = { min: { k: 300 }, max: { k: new MaxKey() }, zone: 'far' };
    await ground.admin({ updateZoneKeyRange: 'shop.made', ...range });
    await ground.admin({ shardCollection: 'shop.made', key: { k: 1 } });
    await shop.collection<Item>('made').insertMany(items(400));
    await ground.admin({ moveChunk: 'shop.items', find: { k: 0 }, to: first });
    await shop.command({ collMod: 'items', index: { name: 'hidden', hidden: false } });
    await shop.command({ collMod: 'items', index: { name: 'ttl', expireAfterSeconds: 40_000 } });
    await shop.collection('collated').rename('renamed');
    await shop.collection<Item>('later').insertOne({ _id: 'here already', k: 1 });
    await shop.collection('later').createIndexes([{ key: { k: 1 } }]);
    await ground.admin({ shardCollection: 'shop.later', key: { k: 1 } });
    await shop.collection<Item>('later').insertMany(items(50));
    await ground.admin({ refineCollectionShardKey: 'shop.items', key: { k: 1, _id: 1 } });
    await shop.collection<Item>('items').insertOne({ _id: 'refined', k: 5, v: 'a' });
    await shop.collection('marked').createIndexes([{ key: { k: 1, _id: 1 } }]);
    await shop.collection('marked').dropIndex('k_1');
    await ground.admin({ refineCollectionShardKey: 'shop.marked', key: { k: 1, _id: 1 } });
    await shop.collection<Item>('marked').insertMany(items(20, 100));
    await shop.collection<Item>('marked').updateOne({ _id: 3, k: 3 }, { $set: { k: -3 } });
  }

  it('carries back what users wrote on each shard since the commit, and can be reversed again', async () => {
    for (const ground of [old(), fresh()])
      await ground.admin({ addShardToZone: ground.cluster.shards[1], zone: 'far' });
    await prepare();
    await using syncer = await pair.syncing(reversible);
    const first = await syncer.progress();
    await syncer.commit();
    await syncer.waitFor(({ canWrite }) => canWrite === true);
    await useAsUser(fresh(), 1);
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    await changeCatalog(fresh());

    for (const [name, ground] of [
      ['cluster0', old()],
      ['cluster1', fresh()],
    ] as const) {
      await ground.admin({ balancerStart: 1 });
      const { body } = await syncer.post('reverse', {});
      await ground.admin({ balancerStop: 1 });
      assert.equal(body['error'], 'BalancerRunning');
      assert.ok(String(body['errorDescription']).includes(name));
    }
    await old().admin({ setUserWriteBlockMode: 1, global: false });
    assert.equal((await syncer.post('reverse', {})).body['error'], 'WritesNotBlocked');
    await old().admin({ setUserWriteBlockMode: 1, global: true });
    assert.deepEqual(await syncer.post('reverse', {}), success);
    await syncer.kill();
    await syncer.restart();
    const { canWrite } = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.equal(canWrite, false);
    assert.deepEqual((await syncer.progress()).directionMapping, {
      Source: first.directionMapping?.Destination,
      Destination: first.directionMapping?.Source,
    });
    assert.equal(await write(old()), 'blocked');
    assert.equal(await write(fresh()), 'written');
    // While it follows, every shard of the old deployment has the replicated form.
    for (const shard of old().cluster.shards) {
      const indexes = await old()
        .cluster.shardClient(shard)
        .db('shop')
        .collection('items')
        .indexes();
      const [unique, ttl] = ['unique', 'ttl'].map((name) => indexes.find((at) => at.name === name));
      assert.equal(unique?.unique, undefined);
      assert.equal(ttl?.expireAfterSeconds, 2_147_483_647);
    }
    await useAsUser(fresh(), 2);
    await commitAndWait(syncer);
    assert.equal(await write(fresh()), 'blocked');
    await assertEqual();
    assert.equal(await write(old()), 'written');
    const keys = old().client.db('config').collection<{ _id: string; key: object }>('collections');
    for (const [ns, key] of [
      ['shop.items', { k: 1, _id: 1 }],
      ['shop.made', { k: 1 }],
      ['shop.later', { k: 1 }],
      ['shop.renamed', { k: 1 }],
    ] as const)
      assert.deepEqual((await keys.findOne({ _id: ns }))?.key, key, ns);
    const far = (await old().onShards('shop.made'))[old().cluster.shards[1] ?? ''];
    // What is outside of the zone may be there, too: a 7.0 server deals such chunks out to all shards.
    assert.equal(far?.filter(({ k }) => Number(k) >= 300).length, 100);

    // What is marked as unique there takes no longer key.
    const { warnings } = await syncer.progress();
    assert.ok(warnings?.some((text) => text.includes('shop.marked keeps its shard key')));

    await useAsUser(old(), 3);
    assert.deepEqual(await syncer.post('reverse', {}), success);
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual((await syncer.progress()).directionMapping, first.directionMapping);
    await useAsUser(old(), 4);
    await commitAndWait(syncer);
    assert.equal(await write(old()), 'blocked');
    await assertEqual();
  });

  it('waits where a moved chunk has left a document with the _id of another', async () => {
    await halves(old(), 'shop.items', { k: 200 });
    await old().collection('shop.items').insertMany(items(20));
    await using syncer = await pair.syncing(reversible);
    await commitAndWait(syncer);
    const [shard = ''] = old().cluster.shards;
    const left = old().cluster.shardClient(shard).db('shop').collection<Item>('items');
    await left.insertOne({ _id: 'left', k: 300 });
    await fresh().collection('shop.items').insertOne({ _id: 'left', k: 7, v: 'kept' });
    assert.deepEqual(await syncer.post('reverse', {}), success);
    const isTold = (warning: string): boolean =>
      warning.includes('"left" of shop.items: an orphaned document');
    await syncer.waitFor(({ warnings }) => warnings?.some(isTold) ?? false);
    await left.deleteOne({ k: 300 });
    await commitAndWait(syncer);
    await assertEqual();
    const kept = await old().collection('shop.items').findOne({ _id: 'left' });
    assert.deepEqual(kept, { _id: 'left', k: 7, v: 'kept' });
  });

  const stopping: readonly (readonly [what: string, run: () => Promise<unknown>, said: RegExp])[] =
    [
      [
        'reshardCollection',
        async () => {
          await fresh().admin({
            reshardCollection: 'shop.items',
            key: { _id: 'hashed' },
            numInitialChunks: 2,
          });
          await fresh().collection('shop.items').insertOne({ _id: 'new', k: 1 });
        },
        /shop\.items was resharded|reshardCollection of shop\.items/,
      ],
      [
        'movePrimary',
        async () => {
          const [first, second] = fresh().cluster.shards;
          const primary = (
            await fresh()
              .client.db('config')
              .collection<{ _id: string; primary: string }>('databases')
              .findOne({ _id: 'shop' })
          )?.primary;
          await fresh().admin({ movePrimary: 'shop', to: primary === first ? second : first });
        },
        /shop was moved to another primary shard/,
      ],
    ];
  for (const [what, run, said] of stopping) {
    it(`${what} of the new deployment stops a reversal, by name, and nobody is kept from writing there`, async () => {
      await halves(old(), 'shop.items', { k: 200 });
      await old().collection('shop.items').insertMany(items(100));
      await old().collection('shop.plain').insertMany(items(5));
      await using syncer = await pair.syncing(reversible);
      await commitAndWait(syncer);
      await run();
      assert.deepEqual(await syncer.post('reverse', {}), success);
      assert.match(await failureOf(syncer), said);
      assert.equal(await write(fresh()), 'written');
      await until('the plain documents are there', async () => {
        return (await old().collection('shop.plain').countDocuments()) === 5;
      });
    });
  }
});
