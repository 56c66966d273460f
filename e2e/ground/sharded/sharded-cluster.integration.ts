import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient, Timestamp, type ChangeStreamDocument, type Document } from 'mongodb';
import { skipBecause } from '../../runner/skip.ts';
import { until } from '../until.ts';
import { startShardedCluster } from './sharded-cluster.ts';
import { collectionOf, useShardedCluster, type Item } from './use-sharded-cluster.ts';

const hundred: readonly Item[] = Array.from({ length: 100 }, (_, k) => ({ _id: k, k }));

describe('startShardedCluster', () => {
  const ground = useShardedCluster({
    shards: 2,
    routers: 2,
    bindIp: ['127.0.0.2'],
    advertisedHost: '127.0.0.2',
  });

  /** Shards a collection by `k`, one half on each shard. */
  async function halves(ns: string): Promise<void> {
    const db = ns.slice(0, ns.indexOf('.'));
    await ground.admin({ enableSharding: db, primaryShard: 'shard-0' });
    await ground.admin({ shardCollection: ns, key: { k: 1 } });
    await ground.admin({ split: ns, middle: { k: 50 } });
    await ground.admin({ moveChunk: ns, find: { k: 50 }, to: 'shard-1' });
  }

  /** What each shard itself says to a command. */
  async function onEachShard<T>(ask: (client: MongoClient) => Promise<T>): Promise<T[]> {
    return await Promise.all(
      ground.cluster.shards.map(async (shard) => await ask(ground.cluster.shardClient(shard))),
    );
  }

  it('is a sharded cluster to the driver', async () => {
    await using client = new MongoClient(ground.cluster.uri('app'));
    const kinds: string[] = [];
    client.on('topologyDescriptionChanged', ({ newDescription }) => {
      kinds.push(newDescription.type);
    });
    await client.connect();
    assert.equal(kinds.at(-1), 'Sharded');
    const hello = await client.db('admin').command({ hello: 1 });
    assert.equal(hello['msg'], 'isdbgrid');
    assert.equal(hello['setName'], undefined);
    const { shards } = await ground.admin({ listShards: 1 });
    assert.deepEqual(
      (shards as Item[]).map(({ _id }) => _id),
      ['shard-0', 'shard-1'],
    );
    assert.equal((await ground.admin({ balancerStatus: 1 }))['mode'], 'off');
    for (const router of ground.cluster.routers) assert.match(router, /^127\.0\.0\.2:\d+$/);
  });

  it('says in its config database how collections are placed', async () => {
    await halves('placed.items');
    const config = ground.client.db('config');
    const database = await config.collection<Item>('databases').findOne({ _id: 'placed' });
    assert.equal(database?.['primary'], 'shard-0');
    const collection = await config
      .collection<Item>('collections')
      .findOne({ _id: 'placed.items' });
    assert.deepEqual(collection?.['key'], { k: 1 });
    const chunks = config.collection('chunks').find({ uuid: collection['uuid'] as unknown });
    const placed = await chunks.sort({ min: 1 }).toArray();
    assert.deepEqual(
      placed.map(({ shard }) => shard as unknown),
      ['shard-0', 'shard-1'],
    );
    await ground.collection('placed.items').createIndexes([{ key: { k: 1, _id: 1 } }]);
    const refined = { k: 1, _id: 1 };
    await ground.admin({ refineCollectionShardKey: 'placed.items', key: refined });
    const after = await config.collection<Item>('collections').findOne({ _id: 'placed.items' });
    assert.deepEqual(after?.['key'], refined);
    await ground.collection('placed.items').insertMany([...hundred]);
    await ground.admin({
      reshardCollection: 'placed.items',
      key: { _id: 'hashed' },
      // Otherwise servers from 6.0.27 on ask for more different keys than there are.
      numInitialChunks: 2,
    });
    const resharded = await config.collection<Item>('collections').findOne({ _id: 'placed.items' });
    assert.deepEqual(resharded?.['key'], { _id: 'hashed' });
    // The server draws a sample to place the chunks: how many documents come on which shard is left to chance.
    const onShards = Object.values(await ground.onShards('placed.items')).flat();
    assert.deepEqual(
      onShards.toSorted((one, other) => Number(one._id) - Number(other._id)),
      hundred,
    );
    const found = hundred.map(
      async ({ _id }) => await ground.collection('placed.items').findOne({ _id }),
    );
    assert.deepEqual(await Promise.all(found), hundred);
  });

  it('has zones until they are taken away', async () => {
    const zoned = { zone: 'short', min: { k: 0 }, max: { k: 10 } };
    await ground.admin({ addShardToZone: 'shard-1', zone: 'short' });
    await ground.admin({ updateZoneKeyRange: 'zoned.items', ...zoned });
    const tags = ground.client.db('config').collection('tags');
    const [tag] = await tags.find({ ns: 'zoned.items' }).toArray();
    assert.deepEqual(tag?.['max'], { k: 10 });
    await ground.admin({ updateZoneKeyRange: 'zoned.items', ...zoned, zone: null });
    await ground.admin({ removeShardFromZone: 'shard-1', zone: 'short' });
    assert.equal(await tags.countDocuments(), 0);
  });

  it('makes, changes and drops collections and indexes on all shards', async () => {
    await halves('catalog.items');
    const db = ground.client.db('catalog');
    const items = ground.collection('catalog.items');
    await items.insertMany([...hundred]);
    const names = async (client: MongoClient): Promise<unknown[]> =>
      (await client.db('catalog').collection('items').indexes()).map(({ name }) => name);
    await items.createIndexes([{ key: { v: 1 }, expireAfterSeconds: 3600 }]);
    assert.deepEqual(await onEachShard(names), Array(2).fill(['_id_', 'k_1', 'v_1']));
    const hidden = { keyPattern: { v: 1 }, hidden: true };
    await db.command({ collMod: 'items', index: hidden });
    const [, , index] = await items.indexes();
    assert.equal(index?.hidden, true);
    await items.dropIndex('v_1');
    assert.deepEqual(await onEachShard(names), Array(2).fill(['_id_', 'k_1']));
    await db.createCollection('capped', { capped: true, size: 4096, max: 3 });
    await db.createCollection('view', { viewOn: 'items', pipeline: [{ $match: { k: 99 } }] });
    assert.equal(await db.collection('view').countDocuments(), 1);
    assert.equal(await db.collection('view').estimatedDocumentCount(), 1);
    await items.rename('renamed');
    const infos = await db.listCollections().toArray();
    assert.deepEqual(infos.map(({ name, type }) => `${name}: ${String(type)}`).sort(), [
      'capped: collection',
      'renamed: collection',
      'system.views: collection',
      'view: view',
    ]);
    assert.equal(await db.collection('renamed').countDocuments(), 100);
    const stats = await db.command({ collStats: 'renamed' });
    assert.equal(stats['count'], 100);
    assert.ok(Number(stats['size']) > 1000);
    assert.equal(stats['sharded'], true);
    const toCapped = db.command({ convertToCapped: 'renamed', size: 4096 });
    await assert.rejects(toCapped, /sharded collection/);
    const plan = await db.collection('renamed').find({ k: 70 }).explain();
    const { winningPlan } = plan['queryPlanner'] as { winningPlan: { shards: Document[] } };
    assert.deepEqual(
      winningPlan.shards.map(({ shardName }) => shardName as unknown),
      ['shard-1'],
    );
    assert.equal((await db.command({ dbStats: 1 }))['objects'], 101);
    await db.collection('plain').insertMany(hundred.map(({ _id }) => ({ k: _id })));
    await db.command({ convertToCapped: 'plain', size: 4096 });
    await ground.admin({ renameCollection: 'catalog.plain', to: 'catalog-2.plain' });
    const tail = db.client.db('catalog-2').collection('plain').find({}, { tailable: true });
    assert.ok((await tail.next())?.['k'] !== undefined);
    await tail.close();
    const databases = await ground.client.db().admin().listDatabases({ nameOnly: true });
    assert.ok(databases.databases.some(({ name }) => name === 'catalog'));
    await db.dropCollection('renamed');
    await db.dropDatabase();
    const left = await onEachShard(async (client) => {
      const filter = { name: 'renamed' };
      return (await client.db('catalog').listCollections(filter).toArray()).length;
    });
    assert.deepEqual(left, [0, 0]);
  });

  it('merges the change streams of the shards in the order of time', async () => {
    await halves('stream.items');
    const items = ground.collection('stream.items');
    const stream = ground.client.watch([], { showExpandedEvents: true, maxAwaitTimeMS: 50 });
    assert.equal(await stream.tryNext(), null);
    for (const item of hundred) await items.insertOne(item);
    await items.createIndexes([{ key: { v: 1 } }]);
    await items.updateOne({ k: 70 }, { $set: { v: 1 } });
    const events: ChangeStreamDocument[] = [];
    while (events.at(-1)?.operationType !== 'update') events.push(await stream.next());
    await stream.close();
    const inserts = events.filter((event) => event.operationType === 'insert');
    assert.deepEqual(
      inserts.map(({ documentKey }) => documentKey),
      hundred,
    );
    assert.equal(
      events.filter(({ operationType }) => operationType === 'createIndexes').length,
      2,
      'one of each shard',
    );
    const [, , , fourth] = events;
    assert.ok(fourth);
    const resumed = ground.client.watch([], { resumeAfter: fourth._id, showExpandedEvents: true });
    for (const expected of events.slice(4)) assert.deepEqual(await resumed.next(), expected);
    await resumed.close();
  });

  it('gives the change stream of one shard', async () => {
    await halves('single.items');
    const items = ground.collection('single.items');
    await items.insertMany([...hundred]);
    const startAtOperationTime = await operationTime();
    await items.updateMany({}, { $set: { w: 1 } });
    for (const [index, shard] of ground.cluster.shards.entries()) {
      const command = {
        aggregate: 1,
        pipeline: [{ $changeStream: { allChangesForCluster: true, startAtOperationTime } }],
        cursor: {},
        $_passthroughToShard: { shard },
      };
      const session = ground.client.startSession();
      const cursor = ground.client.db('admin').runCursorCommand(command, { session });
      const keys: unknown[] = [];
      while (keys.length < 50) {
        const event = (await cursor.next()) as Document;
        if (event['operationType'] === 'update') keys.push((event['documentKey'] as Item)._id);
      }
      await cursor.close();
      await session.endSession();
      assert.deepEqual(
        keys,
        hundred.slice(50 * index, 50 * index + 50).map(({ _id }) => _id),
      );
    }
    const other = {
      aggregate: 'items',
      pipeline: [],
      cursor: {},
      $_passthroughToShard: { shard: 'shard-0' },
    };
    await assert.rejects(ground.client.db('stream').command(other), { code: 72 });
  });

  async function operationTime(): Promise<Timestamp> {
    const note = { appendOplogNote: 1, data: { test: 1 } };
    const { operationTime: time } = await ground.admin(note);
    assert.ok(time instanceof Timestamp);
    return new Timestamp({ t: time.t, i: time.i + 1 });
  }

  it('knows its users, their passwords and their rights', async () => {
    await using nobody = new MongoClient(ground.cluster.uri('app').replace(/\/\/.*@/, '//'));
    await assert.rejects(nobody.db('shop').collection('items').findOne(), { code: 13 });
    await using impostor = new MongoClient(
      ground.cluster.uri('app').replace(/\/\/.*@/, '//app:wrong@'),
    );
    await assert.rejects(impostor.connect(), { code: 18 });
    await using app = new MongoClient(ground.cluster.uri('app'));
    await app.db('shop').collection('items').insertOne({});
    await assert.rejects(app.db('admin').command({ listShards: 1 }), { code: 13 });
    await assert.rejects(app.db('config').collection('chunks').findOne(), { code: 13 });
    await using syncer = new MongoClient(ground.cluster.uri('syncer'));
    await syncer.db('admin').command({ listShards: 1 });
    const status = await syncer.db('admin').command({ connectionStatus: 1, showPrivileges: true });
    const { authenticatedUsers, authenticatedUserPrivileges } = status['authInfo'] as Document;
    assert.deepEqual(authenticatedUsers, [{ user: 'syncer', db: 'admin' }]);
    assert.ok((authenticatedUserPrivileges as unknown[]).length > 0);
    const [shard = ''] = ground.cluster.shards;
    const [host = ''] = ground.cluster.shardClient(shard).options.hosts.map(String);
    await using direct = new MongoClient(ground.cluster.uri('admin', {}, host), {
      directConnection: true,
    });
    await assert.rejects(direct.connect(), { code: 18 }, 'users cannot log in to a shard');
  });

  it('blocks the writes of the ordinary user, not those of the syncer, through every router', async () => {
    await halves('blocked.items');
    await using syncer = new MongoClient(ground.cluster.uri('syncer'));
    const block = { setUserWriteBlockMode: 1, global: true };
    await syncer.db('admin').command(block);
    try {
      for (const router of ground.cluster.routers) {
        await using app = new MongoClient(ground.cluster.uri('app', {}, router));
        const items = collectionOf(app, 'blocked.items');
        await assert.rejects(items.insertMany([...hundred]), { code: 371 });
        await assert.rejects(items.updateOne({ k: 1 }, { $set: { v: 1 } }), { code: 371 });
        await assert.rejects(items.createIndexes([{ key: { v: 1 } }]), { code: 371 });
        await assert.rejects(items.drop(), { code: 371 });
        assert.equal(await items.countDocuments(), 0);
      }
      await ground.cluster.killRouters();
      await ground.cluster.restartRouters();
      await using app = new MongoClient(ground.cluster.uri('app'));
      await assert.rejects(collectionOf(app, 'blocked.items').insertOne({ _id: 1, k: 1 }), {
        code: 371,
      });
      await collectionOf(syncer, 'blocked.items').insertMany([...hundred]);
    } finally {
      await syncer.db('admin').command({ ...block, global: false });
    }
    await using app = new MongoClient(ground.cluster.uri('app'));
    await collectionOf(app, 'blocked.items').insertOne({ _id: 'free', k: 1 });
  });

  it('lets routers see what was done through others', async () => {
    const [left = '', right = ''] = ground.cluster.routers;
    await using one = new MongoClient(ground.cluster.uri('admin', {}, left));
    await using other = new MongoClient(ground.cluster.uri('admin', {}, right));
    const ns = 'several.items';
    await halves(ns);
    await collectionOf(one, ns).insertMany([...hundred]);
    for (const to of ['shard-0', 'shard-1', 'shard-0']) {
      await one.db('admin').command({ moveChunk: ns, find: { k: 50 }, to });
      assert.equal((await collectionOf(other, ns).find().toArray()).length, 100);
      assert.equal(
        (await collectionOf(other, ns).updateMany({}, { $inc: { n: 1 } })).matchedCount,
        100,
      );
      assert.equal(await collectionOf(other, ns).countDocuments({ n: { $gt: 0 } }), 100);
    }
    await collectionOf(one, ns).drop();
    assert.equal(await collectionOf(other, ns).countDocuments(), 0);
  });

  it('continues after its servers are killed and restarted', async () => {
    const items = ground.collection('restarted.items');
    await ground.admin({ shardCollection: 'restarted.items', key: { _id: 'hashed' } });
    await items.insertMany([...hundred]);
    await ground.cluster.killRouters();
    await ground.cluster.restartRouters();
    assert.equal(await items.countDocuments(), 100);
    await ground.cluster.killShard('shard-1');
    const find = ground.client.db('restarted').command({ find: 'items', maxTimeMS: 500 });
    await assert.rejects(find);
    await ground.cluster.restartShard('shard-1');
    assert.equal(await items.countDocuments(), 100);
    await items.updateMany({}, { $set: { after: true } });
    assert.equal(await items.countDocuments({ after: true }), 100);
  });

  it('names the commands and options that its router does not have', async function () {
    if (ground.cluster.routerKind === 'mongos')
      skipBecause(this, 'a real mongos routes, which has all commands');
    for (const [command, codeName] of [
      [{ replSetGetStatus: 1 }, 'CommandNotFound'],
      [{ mapReduce: 'items', map: '', reduce: '', out: {} }, 'CommandNotFound'],
      [{ distinct: 'items', key: 'k' }, 'CommandNotFound'],
      [{ addShard: 'other/127.0.0.1:1' }, 'CommandNotFound'],
      [{ moveChunk: 'placed.items', find: { k: 1 }, to: 'shard-0', else: 1 }, 'NotImplemented'],
      [{ explain: { distinct: 'items' } }, 'NotImplemented'],
      [{ hello: 1, apiVersion: '1' }, 'InvalidOptions'],
    ] as const) {
      await assert.rejects(ground.admin(command), { codeName }, Object.keys(command)[0]);
    }
  });

  it('leaves nothing when its start is aborted', async () => {
    const temporary = await mkdtemp(join(tmpdir(), 'clustersync-sharded-'));
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = temporary;
    try {
      const reason = new Error('enough');
      const controller = new AbortController();
      const starting = startShardedCluster({ shards: 1, signal: controller.signal });
      await until('its folder', async () => (await readdir(temporary)).length > 0);
      controller.abort(reason);
      await assert.rejects(starting, reason);
      assert.deepEqual(await readdir(temporary), []);
    } finally {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
      await rm(temporary, { recursive: true });
    }
  });
});
