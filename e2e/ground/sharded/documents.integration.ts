import assert from 'node:assert/strict';
import { Long, MaxKey, MinKey, MongoClient } from 'mongodb';
import { collectionOf, useShardedCluster, type Item } from './use-sharded-cluster.ts';
import { until } from '../until.ts';

const thousand: readonly Item[] = Array.from({ length: 1000 }, (_, k) => ({ _id: k, k }));

describe('the documents of a sharded cluster', () => {
  const ground = useShardedCluster({ shards: 4, name: 'rs', routers: 1 });
  const [first, second, third, fourth] = ['rs-0', 'rs-1', 'rs-2', 'rs-3'] as const;

  /** How many documents are on each shard itself. */
  async function counts(ns: string): Promise<number[]> {
    return Object.values(await ground.onShards(ns)).map(({ length }) => length);
  }

  /** Shards a collection by `k`, 250 documents on each shard. */
  async function quarters(ns: string): Promise<void> {
    await ground.admin({ enableSharding: ns.slice(0, ns.indexOf('.')), primaryShard: first });
    await ground.admin({ shardCollection: ns, key: { k: 1 } });
    for (const [index, to] of [second, third, fourth].entries()) {
      const k = 250 * (index + 1);
      await ground.admin({ split: ns, middle: { k } });
      await ground.admin({ moveChunk: ns, find: { k }, to });
    }
    await ground.collection(ns).insertMany([...thousand]);
  }

  before(async () => {
    await quarters('moving.items');
  });

  it('are spread by a hashed key, each on one shard', async () => {
    await ground.admin({ shardCollection: 'hashed.items', key: { _id: 'hashed' } });
    const items = ground.collection('hashed.items');
    await items.insertMany([...thousand]);
    const onShards = Object.values(await ground.onShards('hashed.items'));
    for (const { length } of onShards) assert.ok(length > 150, `${length} of 1000 on a shard`);
    const ids = onShards.flat().map(({ _id }) => Number(_id));
    assert.deepEqual(
      ids.sort((left, right) => left - right),
      thousand.map(({ _id }) => _id),
    );
    assert.equal(await items.countDocuments(), 1000);
    assert.equal(await items.estimatedDocumentCount(), 1000);
    const chunk = { moveChunk: 'hashed.items', find: { _id: 1 }, to: first, _waitForDelete: true };
    await ground.admin(chunk);
    assert.ok((await ground.onShards('hashed.items'))[first]?.some(({ _id }) => _id === 1));
    const chunks = ground.client.db('config').collection('chunks');
    const before = await chunks.countDocuments();
    await ground.admin({ split: 'hashed.items', find: { _id: 1 } });
    assert.equal(await chunks.countDocuments(), before + 1);
  });

  it('are read and written where their ranges are', async () => {
    await quarters('ranged.items');
    const items = ground.collection('ranged.items');
    assert.deepEqual(await counts('ranged.items'), [250, 250, 250, 250]);
    const sorted = await items.find().sort({ k: -1 }).batchSize(7).toArray();
    assert.deepEqual(sorted, thousand.toReversed());
    assert.equal((await items.find({}, { batchSize: 100 }).toArray()).length, 1000);
    assert.deepEqual(
      await items
        .find({ k: { $gte: 498, $lt: 502 } })
        .sort({ k: 1 })
        .toArray(),
      [...thousand.slice(498, 502)],
    );
    const groups = await items
      .aggregate([{ $group: { _id: { $mod: ['$k', 2] }, n: { $sum: 1 } } }, { $sort: { _id: 1 } }])
      .toArray();
    assert.deepEqual(groups, [
      { _id: 0, n: 500 },
      { _id: 1, n: 500 },
    ]);
    const result = await items.bulkWrite(
      [
        { updateOne: { filter: { k: 3 }, update: { $set: { seen: true } } } },
        { updateMany: { filter: {}, update: { $inc: { all: 1 } } } },
        { updateOne: { filter: { k: 2000 }, update: { $set: { _id: 2000 } }, upsert: true } },
        { replaceOne: { filter: { k: 600 }, replacement: { k: 600, is: 'new' } } },
        { deleteOne: { filter: { k: 10 } } },
        { deleteMany: { filter: { k: { $gte: 240, $lt: 260 } } } },
        { insertOne: { document: { _id: 'a', k: 300 } } },
      ],
      { ordered: true },
    );
    assert.equal(result.modifiedCount, 1002);
    assert.equal(result.deletedCount, 21);
    assert.equal(result.upsertedCount, 1);
    assert.deepEqual(await counts('ranged.items'), [239, 241, 250, 251]);
    assert.deepEqual(await items.findOne({ k: 600 }), { _id: 600, k: 600, is: 'new' });
    const changed = await items.findOneAndUpdate(
      { k: 999 },
      { $set: { found: 1 } },
      { returnDocument: 'after' },
    );
    assert.deepEqual(changed, { _id: 999, k: 999, all: 1, found: 1 });
    assert.equal(await items.countDocuments({ all: 1 }), 978);
    await items.aggregate([{ $match: { k: { $gte: 990 } } }, { $out: 'copied' }]).toArray();
    assert.equal(await ground.collection('ranged.copied').countDocuments(), 11);
  });

  it('keep to the rules of the shard key', async () => {
    const items = ground.collection('moving.items');
    await assert.rejects(items.insertOne({ _id: 400, k: 400 }), { code: 11000 });
    await assert.rejects(items.replaceOne({ _id: 5 }, { k: 5 }, { upsert: true }), { code: 61 });
    const update = items.findOneAndUpdate({ other: 1 }, { $set: { x: 1 } });
    await assert.rejects(update, { code: 61 });
    await assert.rejects(items.createIndexes([{ key: { other: 1 }, unique: true }]), { code: 67 });
  });

  it('of unsharded collections are on the primary shard of their database', async () => {
    for (const shard of [second, fourth]) {
      await ground.admin({ enableSharding: `on-${shard}`, primaryShard: shard });
      await ground.collection(`on-${shard}.items`).insertMany([...thousand]);
    }
    assert.deepEqual(await counts('on-rs-1.items'), [0, 1000, 0, 0]);
    assert.deepEqual(await counts('on-rs-3.items'), [0, 0, 0, 1000]);
    await ground.admin({ movePrimary: 'on-rs-3', to: third });
    assert.deepEqual(await counts('on-rs-3.items'), [0, 0, 1000, 0]);
    const items = ground.collection('on-rs-3.items');
    await items.updateMany({ k: { $lt: 10 } }, { $set: { small: true } });
    assert.equal(await items.countDocuments({ small: true }), 10);
  });

  it('are in the zone of their range', async () => {
    for (const [zone, shard] of [
      ['low', third],
      ['high', second],
    ] as const) {
      await ground.admin({ addShardToZone: shard, zone });
    }
    const ns = 'zoned.items';
    const ranges = [
      { min: { k: new MinKey() }, max: { k: 500 }, zone: 'low' },
      { min: { k: 500 }, max: { k: new MaxKey() }, zone: 'high' },
    ];
    for (const range of ranges) await ground.admin({ updateZoneKeyRange: ns, ...range });
    await ground.admin({ shardCollection: ns, key: { k: 1 } });
    await ground.collection(ns).insertMany([...thousand]);
    assert.deepEqual(await counts(ns), [0, 500, 500, 0]);
  });

  it('are each found once while their chunks move', async () => {
    const ns = 'moving.items';
    const items = ground.collection(ns);
    const cursor = items.find({}, { batchSize: 50 });
    const seen = new Set<unknown>();
    let read = 0;
    const take = async (n: number): Promise<void> => {
      for (let i = 0; i < n; i++) {
        const item = await cursor.next();
        if (item === null) return;
        read += 1;
        seen.add(item._id);
      }
    };
    await take(100);
    for (const [k, to] of [
      [0, fourth],
      [250, first],
      [750, second],
    ] as const) {
      await ground.admin({ moveChunk: ns, find: { k }, to });
      await take(100);
    }
    await items.updateMany({}, { $set: { moved: true } });
    await take(Infinity);
    assert.equal(read, 1000);
    assert.equal(seen.size, 1000);
    assert.equal(await items.countDocuments({ moved: true }), 1000);
  });

  it('are each changed once while their chunks move', async () => {
    const ns = 'moving.items';
    const items = ground.collection(ns);
    const settled = new AbortController();
    const increment = async (): Promise<number> => {
      let times = 0;
      for (; !settled.signal.aborted || times < 50; times++) {
        await items.updateOne({ k: (times * 37) % 1000 }, { $inc: { times: 1 } });
      }
      return times;
    };
    const insert = async (): Promise<number> => {
      let inserted = 0;
      for (; !settled.signal.aborted || inserted < 50; inserted++) {
        await items.insertOne({ _id: `new ${inserted}`, k: (inserted * 41) % 1000 });
      }
      return inserted;
    };
    const working = Promise.all([increment(), increment(), insert()]);
    try {
      for (const to of [second, third, first]) {
        for (const k of [0, 500]) await ground.admin({ moveChunk: ns, find: { k }, to });
      }
    } finally {
      settled.abort();
    }
    const [one, other, inserted] = await working;
    const sum = { $group: { _id: null, times: { $sum: '$times' }, n: { $sum: 1 } } };
    assert.deepEqual(await items.aggregate([sum]).toArray(), [
      { _id: null, times: one + other, n: 1000 + inserted },
    ]);
    await items.deleteMany({ _id: /^new/ as never });
  });

  it('go to the shard of their new shard key', async () => {
    await quarters('changing.items');
    const items = ground.collection('changing.items');
    await using stream = items.watch([], { maxAwaitTimeMS: 50 });
    assert.equal(await stream.tryNext(), null);
    await items.updateOne({ k: 1 }, { $set: { k: 300.5 } });
    assert.equal((await stream.next()).operationType, 'delete');
    assert.equal((await stream.next()).operationType, 'insert');
    await items.replaceOne({ k: 2 }, { k: 600.5, is: 'new' });
    await items.updateOne({ k: 3 }, { $set: { k: 4.5 } });
    const result = await items.bulkWrite([
      { updateOne: { filter: { k: 5 }, update: { $set: { before: 1 } } } },
      { updateOne: { filter: { k: 6 }, update: { $set: { k: 900.5 } } } },
      { updateOne: { filter: { k: 7 }, update: { $set: { between: 1 } } } },
      { updateOne: { filter: { k: 8 }, update: { $set: { k: 901.5 } } } },
      { updateOne: { filter: { k: 9 }, update: { $set: { after: 1 } } } },
    ]);
    assert.equal(result.matchedCount, 5);
    assert.equal(result.modifiedCount, 5);
    assert.deepEqual(await counts('changing.items'), [246, 251, 251, 252]);
    assert.deepEqual(await items.find({ k: { $gt: 300, $lt: 301 } }).toArray(), [
      { _id: 1, k: 300.5 },
    ]);
    assert.deepEqual(await items.findOne({ k: 600.5 }), { _id: 2, k: 600.5, is: 'new' });
    await ground.client.withSession(async (session) => {
      await session.withTransaction(async () => {
        await items.updateOne({ k: 300.5 }, { $set: { k: 1 } }, { session });
        await items.updateOne({ k: 600.5 }, { $set: { k: 2 } }, { session });
      });
    });
    assert.deepEqual(await counts('changing.items'), [248, 250, 250, 252]);
  });

  it('that a migration left behind are on the shard, and found no more', async () => {
    const ns = 'orphaned.items';
    await quarters(ns);
    const shard = ground.cluster.shardClient(first).db('admin');
    const delay = async (orphanCleanupDelaySecs: number): Promise<void> => {
      await shard.command({ setParameter: 1, orphanCleanupDelaySecs });
    };
    await delay(3600);
    try {
      await ground.admin({ moveChunk: ns, find: { k: 0 }, to: second });
      const items = ground.collection(ns);
      await items.updateMany({ k: { $lt: 250 } }, { $set: { isTrue: true } });
      assert.deepEqual(await counts(ns), [250, 500, 250, 250]);
      assert.equal((await items.find().toArray()).length, 1000);
      assert.equal(await items.countDocuments({ isTrue: true }), 250);
      assert.equal(await items.countDocuments({ k: { $lt: 250 }, isTrue: { $ne: true } }), 0);
    } finally {
      await delay(0);
    }
  });

  it('are written by a transaction on several shards, or not at all', async () => {
    const items = ground.collection('moving.items');
    await ground.client.withSession(async (session) => {
      await session.withTransaction(async () => {
        const news = [
          { _id: 'a', k: 1 },
          { _id: 'b', k: 260 },
          { _id: 'c', k: 510 },
        ];
        await items.insertMany(news, { session });
        await items.updateOne({ k: 999 }, { $set: { by: 'transaction' } }, { session });
        await items.deleteOne({ k: 998 }, { session });
        assert.equal(
          (await items.find({ k: 999 }, { session }).toArray())[0]?.['by'],
          'transaction',
        );
        assert.equal(await items.countDocuments({ _id: 'a' }), 0);
      });
      assert.equal(await items.countDocuments({ _id: { $in: ['a', 'b', 'c'] } }), 3);
      assert.equal(await items.countDocuments({ k: 998 }), 0);
      session.startTransaction();
      await items.insertMany(
        [
          { _id: 'd', k: 1 },
          { _id: 'e', k: 900 },
        ],
        { session },
      );
      const sorted = items.find({}, { session }).sort({ k: 1 }).toArray();
      await assert.rejects(sorted, { codeName: 'NotImplemented' });
      await session.abortTransaction();
      assert.equal(await items.countDocuments({ _id: { $in: ['d', 'e'] } }), 0);
    });
  });

  it('are read after what the session has written', async () => {
    const items = ground.collection('moving.items');
    await ground.client.withSession({ causalConsistency: true }, async (session) => {
      for (let n = 0; n < 5; n++) {
        await items.updateOne({ k: 7 }, { $set: { n } }, { session });
        const read = items.find({ k: 7 }, { session, readConcern: 'majority' });
        assert.equal((await read.toArray())[0]?.['n'], n);
      }
    });
    await ground.client.withSession({ snapshot: true }, async (session) => {
      const before = await items.countDocuments({}, { session });
      await items.insertOne({ _id: 'later', k: 8 });
      assert.equal((await items.find({}, { session }).toArray()).length, before);
    });
  });

  it('are written once when a write is tried again', async () => {
    const items = ground.collection('moving.items');
    await using client = new MongoClient(ground.cluster.uri('admin'), { retryWrites: false });
    const session = client.startSession();
    const increment = async (txnNumber: number): Promise<void> => {
      const update = {
        update: 'items',
        updates: [{ q: { k: 20 }, u: { $inc: { times: 1 } } }],
        txnNumber: Long.fromNumber(txnNumber),
      };
      await client.db('moving').command(update, { session });
    };
    await increment(1);
    await increment(1);
    assert.equal((await items.findOne({ k: 20 }))?.['times'], 1);
    await increment(2);
    assert.equal((await items.findOne({ k: 20 }))?.['times'], 2);
    await session.endSession();
  });

  it('leave no cursor open on a shard when a client closes its own', async () => {
    const items = collectionOf(ground.client, 'moving.items');
    const cursor = items.find({}, { batchSize: 10 });
    await cursor.next();
    assert.ok((await idleCursors('moving.items')) > 0);
    await cursor.close();
    // The answer does not wait for the shards; that of a mongos does not either.
    await until('the end of the cursors', async () => (await idleCursors('moving.items')) === 0);
  });

  /** How many cursors are open on the shards. */
  async function idleCursors(ns: string): Promise<number> {
    let total = 0;
    for (const shard of ground.cluster.shards) {
      const admin = ground.cluster.shardClient(shard).db('admin');
      const found = admin.aggregate([
        { $currentOp: { allUsers: true, idleCursors: true } },
        { $match: { type: 'idleCursor', ns } },
      ]);
      total += (await found.toArray()).length;
    }
    return total;
  }
});
