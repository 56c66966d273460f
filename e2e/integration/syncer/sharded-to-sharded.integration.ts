import assert from 'node:assert/strict';
import { MaxKey, type Document } from 'mongodb';
import type { SyncerProgress } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward } from './cluster-pair.ts';
import { commitUnlessStopped, failureOf, useShardedPair } from './sharded-pair.ts';
import { holdCommands, slowOnShards } from './slow-commands.ts';

interface Item extends Document {
  _id: string | number;
}

const items = (count: number, first = 0): Item[] =>
  Array.from({ length: count }, (_, n) => ({ _id: first + n, k: (first + n) * 7, v: 'a' }));

const reshard = { reshardCollection: 'shop.items', key: { _id: 'hashed' }, numInitialChunks: 2 };
const wasResharded = /shop\.items was resharded|reshardCollection of shop\.items/;

describe('a sharded cluster synced into one with another number of shards', () => {
  const pair = useShardedPair(3, 2, { keepsOrphans: true });
  const shop = () => pair.source.client.db('shop');
  const source = () => shop().collection<Item>('items');
  const admin = async (command: Document): Promise<Document> =>
    await pair.source.client.db('admin').command(command);

  /** Shards a collection of the source by `k`, one half on each shard. */
  async function halves(ns: string, middle: number): Promise<void> {
    await admin({ enableSharding: ns.slice(0, ns.indexOf('.')), primaryShard: 'from-0' });
    await admin({ shardCollection: ns, key: { k: 1 } });
    await admin({ split: ns, middle: { k: middle } });
    await admin({ moveChunk: ns, find: { k: middle }, to: 'from-1' });
  }

  beforeEach(async () => {
    await pair.reset();
  });

  it('has the shard keys of the source, unsharded collections, views, and every document once', async () => {
    await halves('shop.items', 2100);
    await source().insertMany(items(600));
    await shop().createCollection('collated', { collation: { locale: 'en', strength: 2 } });
    const simple = { locale: 'simple' };
    const keys = { hashed: { k: 'hashed' }, compound: { v: 1, k: 1 }, ids: { _id: 'hashed' } };
    for (const [name, key] of Object.entries(keys)) {
      await admin({ shardCollection: `shop.${name}`, key });
      await shop().collection<Item>(name).insertMany(items(300));
    }
    await shop()
      .collection('collated')
      .createIndexes([{ key: { k: 1 }, collation: simple }]);
    await admin({ shardCollection: 'shop.collated', key: { k: 1 }, collation: simple });
    await shop().collection<Item>('collated').insertMany(items(50));
    await source().createIndexes([{ key: { k: 1, v: 1 }, unique: true, name: 'unique' }]);
    await admin({ enableSharding: 'elsewhere', primaryShard: 'from-1' });
    await pair.source.client.db('elsewhere').collection<Item>('plain').insertMany(items(20));
    await shop().createCollection('capped', { capped: true, size: 4096 });
    await shop().createCollection('view', { viewOn: 'items', pipeline: [{ $match: { k: 7 } }] });
    await using syncer = await pair.syncing({});
    const { directionMapping, coordinatorID } = await syncer.progress();
    assert.match(directionMapping?.Source ?? '', /^cluster0: 127\.0\.0\.1:\d+$/);
    assert.equal(coordinatorID, 'syncer');
    await source().updateMany({}, { $set: { v: 'b' } });
    await shop()
      .collection('hashed')
      .deleteMany({ k: { $lt: 70 } });
    await commitAndWait(syncer);
    assert.deepEqual(await pair.shardKey('shop.items'), { k: 1 });
    for (const [name, key] of Object.entries(keys))
      assert.deepEqual(await pair.shardKey(`shop.${name}`), key);
    assert.equal(await pair.shardKey('elsewhere.plain'), undefined);
    for (const [shard, count] of Object.entries(await pair.spread('shop.items')))
      assert.ok(count >= 60, `${shard} has ${count} of 600`);
    await pair.assertEqual();
  });

  it('keeps the zones that the destination has shards in', async () => {
    const range = { min: { k: 2100 }, max: { k: new MaxKey() }, zone: 'far' };
    const elsewhere = { min: { k: -10 }, max: { k: 0 }, zone: 'nowhere else' };
    await admin({ addShardToZone: 'from-1', zone: 'far' });
    await admin({ addShardToZone: 'from-0', zone: 'nowhere else' });
    await pair.destination.admin({ addShardToZone: 'shard-2', zone: 'far' });
    try {
      await halves('shop.items', 2100);
      await admin({ updateZoneKeyRange: 'shop.items', ...range });
      await admin({ split: 'shop.items', middle: { k: -10 } });
      await admin({ split: 'shop.items', middle: { k: 0 } });
      await admin({ updateZoneKeyRange: 'shop.items', ...elsewhere });
      await source().insertMany(items(600));
      await using syncer = await pair.syncing({});
      // One that is sharded during the sync has them, too.
      await shop().createCollection('later');
      await admin({ updateZoneKeyRange: 'shop.later', ...range });
      await admin({ shardCollection: 'shop.later', key: { k: 1 } });
      await shop().collection<Item>('later').insertMany(items(600));
      await commitAndWait(syncer);
      await pair.assertEqual();
      const later = (await pair.destination.onShards('shop.later'))['shard-2'] ?? [];
      assert.equal(later.filter(({ k }) => Number(k) >= 2100).length, 300);
      const far = (await pair.destination.onShards('shop.items'))['shard-2'] ?? [];
      assert.equal(far.filter(({ k }) => Number(k) >= 2100).length, 300);
      const tags = pair.destination.client
        .db('config')
        .collection('tags')
        .find({}, { projection: { _id: 0 }, sort: { ns: 1 } });
      const { min, max } = range;
      assert.deepEqual(await tags.toArray(), [
        { ns: 'shop.items', min, max, tag: 'far' },
        { ns: 'shop.later', min, max, tag: 'far' },
      ]);
    } finally {
      for (const { min, max } of [range, elsewhere])
        await admin({ updateZoneKeyRange: 'shop.items', min, max, zone: null });
      const { min, max } = range;
      for (const { client } of [pair.source, pair.destination]) {
        const none = { updateZoneKeyRange: 'shop.later', min, max, zone: null };
        await client.db('admin').command(none);
      }
      await admin({ removeShardFromZone: 'from-1', zone: 'far' });
      await admin({ removeShardFromZone: 'from-0', zone: 'nowhere else' });
      await pair.destination.admin({ updateZoneKeyRange: 'shop.items', min, max, zone: null });
      await pair.destination.admin({ removeShardFromZone: 'shard-2', zone: 'far' });
    }
  });

  it('follows documents from shard to shard, in transactions too, and through kills', async () => {
    await halves('shop.items', 2100);
    await source().insertMany(items(600));
    await using syncer = await pair.syncer({ options: { partitionMebibytes: 0.005 } });
    await syncer.start(forward);
    const change = async (first: number): Promise<void> => {
      for (let _id = first; _id < first + 15; _id++) {
        const [{ k } = { k: 0 }] = await source().find({ _id }).toArray();
        // To the other shard, there a change, back again, and some stay.
        await source().updateOne({ _id, k: k as number }, { $set: { k: 4200 - Number(k) } });
        await source().updateOne({ _id, k: 4200 - Number(k) }, { $set: { v: `moved ${first}` } });
        if (_id % 3 === 0)
          await source().updateOne({ _id, k: 4200 - Number(k) }, { $set: { k: k as number } });
        if (_id % 5 === 0) await source().deleteOne({ _id });
        if (_id % 10 === 0) await source().insertOne({ _id, k: 4200 - Number(k), v: 'again' });
      }
      await pair.source.client.withSession(async (session) => {
        await session.withTransaction(async () => {
          const [low, high] = [first + 20, first + 320];
          await source().updateOne({ _id: low, k: low * 7 }, { $set: { v: 't' } }, { session });
          await source().deleteOne({ _id: high, k: high * 7 }, { session });
          await source().insertOne({ _id: high, k: low * 7 + 1, v: 't' }, { session });
        });
      });
    };
    await change(0);
    await syncer.kill('SIGKILL');
    await change(50);
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await change(100);
    await syncer.kill('SIGKILL');
    await change(150);
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('follows changes whose events leave out the shard key, as of documents without it', async () => {
    await halves('shop.items', 2100);
    await source().insertMany(items(600));
    await source().insertMany([700, 701, 702, 703].map((_id) => ({ _id, v: 'a' })));
    await using syncer = await pair.syncing({});
    await using stream = source().watch();
    await stream.tryNext();
    await source().updateOne({ _id: 700, k: null }, { $set: { v: 'changed' } });
    await source().replaceOne({ _id: 701, k: null }, { v: 'replaced' });
    await source().deleteOne({ _id: 702, k: null });
    await source().insertOne({ _id: 704, v: 'new' });
    await source().updateOne({ _id: 703, k: null }, { $set: { k: 3_000 } });
    for (const _id of [700, 701, 702, 704]) {
      const event: Document = await stream.next();
      assert.deepEqual(event['documentKey'], { _id });
    }
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('has a document whose shard key has changed, when the syncer dies between its delete and its insert', async () => {
    await halves('shop.items', 2100);
    await source().insertMany(items(20));
    await using syncer = await pair.syncing({});
    const { cluster } = pair.destination;
    const [copy] = Object.entries(await pair.destination.onShards('shop.items')).filter(
      ([, found]) => found.some(({ _id }) => _id === 5),
    );
    {
      const shard = { client: cluster.shardClient(copy?.[0] ?? '') };
      await using held = await holdCommands(shard, 'delete', 'shop.items');
      await source().updateOne({ _id: 5, k: 35 }, { $set: { k: 36 } });
      await held.reached(1);
      await syncer.kill('SIGKILL');
    }
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('passes over documents whose collection has given its name to a capped one', async () => {
    await halves('shop.items', 2100);
    await source().insertMany(items(20));
    await using syncer = await pair.syncing({});
    assert.equal((await syncer.post('pause', {})).status, 200);
    // An update of a shard key, which is replaced by the document as it is now: it is gone.
    await source().updateOne({ _id: 5, k: 35 }, { $set: { k: 36 } });
    await source().drop();
    await shop().createCollection('items', { capped: true, size: 4096 });
    await source().insertMany(items(3));
    assert.equal((await syncer.post('resume', {})).status, 200);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('follows the catalog on all shards', async () => {
    await halves('shop.items', 350);
    await source().insertMany(items(100));
    await using syncer = await pair.syncing({});
    await halves('shop.later', 350);
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
    await halves('shop.items', 70);
    await source().insertMany(items(30, 1000));
    await shop().collection('later').rename('items', { dropTarget: true });
    await shop().collection<Item>('unsharded').insertMany(items(20, 100));
    await admin({ shardCollection: 'shop.unsharded', key: { _id: 1 } });
    await shop().collection<Item>('unsharded').insertMany(items(20, 200));
    await halves('gone.items', 7);
    await pair.source.client.db('gone').dropDatabase();
    await admin({ refineCollectionShardKey: 'shop.renamed', key: { k: 1, v: 1 } }).catch(
      async () => {
        await shop()
          .collection('renamed')
          .createIndexes([{ key: { k: 1, v: 1 } }]);
        await admin({ refineCollectionShardKey: 'shop.renamed', key: { k: 1, v: 1 } });
      },
    );
    await shop()
      .collection<Item>('renamed')
      .updateOne({ _id: 5, k: 35, v: 'a' }, { $set: { v: 'z' } });
    await shop().collection<Item>('renamed').insertOne({ _id: 'new', k: 3, v: 'y' });
    await commitAndWait(syncer);
    assert.deepEqual(await pair.shardKey('shop.renamed'), { k: 1, v: 1 });
    assert.deepEqual(await pair.shardKey('shop.items'), { k: 1 });
    assert.deepEqual(await pair.shardKey('shop.unsharded'), { _id: 1 });
    await pair.assertEqual();
  });

  const stopping: readonly (readonly [what: string, run: () => Promise<unknown>, said: RegExp])[] =
    [
      [
        'reshardCollection',
        async () => {
          await admin(reshard);
          await source().insertOne({ _id: 'new', k: 1 });
        },
        wasResharded,
      ],
      [
        'movePrimary',
        async () => {
          await shop().collection<Item>('plain').insertOne({ _id: 1 });
          await admin({ movePrimary: 'shop', to: 'from-1' });
        },
        /shop was moved to another primary shard/,
      ],
    ];
  for (const [what, run, said] of stopping) {
    it(`${what} stops the sync, by name`, async () => {
      await halves('shop.items', 350);
      await source().insertMany(items(100));
      await using syncer = await pair.syncing({});
      await run();
      assert.match(await failureOf(syncer), said);
    });

    it(`${what} in mid-copy stops it as well, at the commit at the latest`, async () => {
      await halves('shop.items', 350);
      await source().insertMany(items(100));
      await shop().collection<Item>('other').insertMany(items(100));
      await using syncer = await pair.syncer({ options: { copyWorkers: 1 } });
      {
        await using slow = await slowOnShards(pair.destination, ['insert'], 1_000);
        await syncer.start(forward);
        await slow.reached(1);
        await run();
      }
      await until('the end of the copy, or the failure', async () => {
        const { body } = await syncer.getProgress();
        return body['error'] !== undefined || (body['progress'] as SyncerProgress).canCommit;
      });
      // Refused where it has failed already.
      await syncer.post('commit', {});
      assert.match(await failureOf(syncer), said);
    });
  }

  for (const isCommitted of [true, false]) {
    const what = isCommitted ? 'keeps the commit from being completed' : 'stops the sync soon';
    it(`reshardCollection without a write after it ${what}`, async () => {
      await halves('shop.items', 350);
      await source().insertMany(items(100));
      await using syncer = await pair.syncing({});
      await admin(reshard);
      if (isCommitted) await commitUnlessStopped(syncer);
      assert.match(await failureOf(syncer), wasResharded);
    });
  }

  it('stops by name where a collection of the source is another one on its primary shard', async () => {
    await halves('shop.items', 350);
    await source().insertMany(items(100));
    const alone = pair.source.ground?.cluster.shardClient('from-0').db('shop');
    assert.ok(alone);
    await alone.command({ convertToCapped: 'items', size: 100_000 });
    await using syncer = await pair.syncer();
    await syncer.start(forward);
    await until(
      'the failure',
      async () => (await syncer.getProgress()).body['error'] !== undefined,
    );
    assert.match(await failureOf(syncer), /^ChangeNotSupported: shop\.items is one collection on/);
  });

  it('keeps documents of one _id on several shards as they are, or stops where there is no room for both', async () => {
    await halves('shop.items', 2100);
    await source().insertMany([
      { _id: 'apart', k: 1 },
      { _id: 'apart', k: 4000 },
    ]);
    await source().insertMany(items(300, 1));
    await using syncer = await pair.syncing({});
    await source().updateOne({ _id: 'apart', k: 1 }, { $set: { v: 'low' } });
    await source().updateOne({ _id: 'apart', k: 4000 }, { $set: { v: 'high' } });
    await source().insertOne({ _id: 1, k: 4001 });
    await source().deleteOne({ _id: 1, k: 7 });
    await syncer.waitFor(({ totalEventsApplied }) => (totalEventsApplied ?? 0) >= 4);
    const copies = pair.destination.client.db('shop').collection<Item>('items');
    assert.deepEqual(
      await copies
        .find({ _id: { $in: ['apart', 1] } })
        .sort({ k: 1 })
        .toArray(),
      [
        { _id: 'apart', k: 1, v: 'low' },
        { _id: 'apart', k: 4000, v: 'high' },
        { _id: 1, k: 4001 },
      ],
    );
    // Of three shards, some pair has one in common.
    for (let n = 0; n < 12; n++) {
      await source().insertOne({ _id: `twice ${n}`, k: n * 150 });
      await source().insertOne({ _id: `twice ${n}`, k: 2200 + n * 150 });
    }
    assert.match(
      await failureOf(syncer),
      /^DuplicateIds: shop\.items has several documents with the _id "twice/,
    );
  });

  it('stops at the copy where there is no room for two documents of one _id', async () => {
    await halves('shop.items', 2100);
    for (let n = 0; n < 12; n++) {
      await source().insertOne({ _id: `twice ${n}`, k: n * 150 });
      await source().insertOne({ _id: `twice ${n}`, k: 2200 + n * 150 });
    }
    await using syncer = await pair.syncer();
    await syncer.start(forward);
    assert.match(
      await failureOf(syncer),
      /^DuplicateIds: shop\.items has several documents with the _id "twice/,
    );
  });

  it('is refused while a balancer runs, and the other way round', async () => {
    await using syncer = await pair.syncer();
    await admin({ balancerStart: 1 });
    try {
      const { body } = await syncer.post('start', forward);
      assert.equal(body['error'], 'BalancerRunning');
      assert.match(String(body['errorDescription']), /cluster0/);
    } finally {
      await admin({ balancerStop: 1 });
    }
    const body = { ...forward, reversible: true, enableUserWriteBlocking: true };
    assert.equal((await syncer.post('start', body)).body['error'], 'ReversibleNotSupported');
  });

  it('never copies orphans: documents that a moved chunk has left behind', async () => {
    await halves('shop.items', 350);
    await source().insertMany(items(100));
    const shard = pair.source.ground?.cluster.shardClient('from-0').db('admin');
    assert.ok(shard);
    await shard.command({ setParameter: 1, orphanCleanupDelaySecs: 3600 });
    try {
      await admin({ moveChunk: 'shop.items', find: { k: 0 }, to: 'from-1' });
      await source().updateMany({ _id: { $lt: 50 } }, { $set: { v: 'after the move' } });
      const isLeft = { k: { $lt: 350 }, v: { $ne: 'after the move' } };
      const items = pair.source.ground?.cluster
        .shardClient('from-0')
        .db('shop')
        .collection('items');
      assert.equal(await items?.countDocuments(isLeft), 50);
      await using syncer = await pair.syncing({});
      await commitAndWait(syncer);
      assert.equal(await items?.countDocuments(isLeft), 50, 'they are there to the end');
      await pair.assertEqual();
      assert.equal(await source().countDocuments(), 100);
    } finally {
      await shard.command({ setParameter: 1, orphanCleanupDelaySecs: 0 });
    }
  });
});
