import assert from 'node:assert/strict';
import {
  BSON,
  MongoClient,
  Timestamp,
  type Collection,
  type Document,
  type IndexDescription,
} from 'mongodb';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import {
  collectionOf,
  useShardedCluster,
  type Item,
  type ShardedGround,
} from '../../ground/sharded/use-sharded-cluster.ts';
import type { MismatchView } from '../../../verifier/compare/mismatch.ts';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { RawCursor } from '../../../mongo/raw-cursor.ts';
import { isTimeNotHeardOf, timeOfAllShards } from '../../../mongo/router-time.ts';
import { codeOf } from '../../../mongo/server-errors.ts';
import { readRange } from '../../../verifier/compare/read-documents.ts';
import { splitRanges } from '../../../verifier/compare/split-ranges.ts';
import { until } from '../../ground/until.ts';
import { writeToBoth } from './mirrored-writer.ts';
import { openSession, verifyOnce, type Progress } from './verifier-session.ts';

/** How often a run while both sides are written to is repeated. More: VERIFIER_RUNS=20. */
const runs = Number(process.env['VERIFIER_RUNS'] ?? 1);

/** More than one batch of the verifier. */
const rowCount = 6000;

/** Documents whose `_id`s are of two types, and whose `region` says on which shard they are. */
const rows: readonly Document[] = Array.from({ length: rowCount }, (_, n) => ({
  _id: n % 3 === 0 ? String(n) : n,
  region: n % 10,
  text: `row ${n}`,
}));

const lockBusy = 46;

const indexes: readonly IndexDescription[] = [
  { key: { text: 1 }, name: 'by_text' },
  { key: { at: 1 }, name: 'ttl', expireAfterSeconds: 3600 },
  { key: { text: 'text' }, name: 'words', default_language: 'german', weights: { text: 3 } },
  { key: { place: '2dsphere' }, name: 'near' },
  { key: { 'deep.$**': 1 }, name: 'wild' },
  { key: { n: -1 }, name: 'part', partialFilterExpression: { n: { $gt: 1 } }, hidden: true },
  { key: { name: 1 }, name: 'name', collation: { locale: 'en', strength: 2 } },
  { key: { region: 1, n: 1 }, name: 'sparse', sparse: true },
  { key: { region: 1, name: 1 }, name: 'folded', collation: { locale: 'fr' } },
];

/** A cluster as a connection string leads to it. */
interface Cluster {
  uri(user: 'syncer'): string;
}

describe('the verifier with sharded clusters', function () {
  this.timeout(120_000);
  const wide = useShardedCluster({
    shards: 2,
    name: 'wide',
    routers: 2,
    syncerRoles: 'destination',
  });
  const single = useShardedCluster({ shards: 1, name: 'single', syncerRoles: 'source' });
  let set: ReplicaSet;
  let setClient: MongoClient;

  before(async () => {
    set = await startReplicaSet({ members: 1, name: 'set' });
    setClient = new MongoClient(set.uri('admin'));
    for (const client of [setClient, wide.client, single.client]) await load(client);
  });

  after(async () => {
    await setClient.close();
    await set.stop();
  });

  async function load(client: MongoClient): Promise<void> {
    const isSharded = client !== setClient;
    const admin = async (command: Document): Promise<void> => {
      if (isSharded) await client.db('admin').command(command);
    };
    const shop = client.db('shop');
    await admin({ enableSharding: 'shop', primaryShard: `${name(client)}-0` });
    await admin({ shardCollection: 'shop.rows', key: { region: 1 } });
    await admin({ shardCollection: 'shop.hashed', key: { _id: 'hashed' } });
    await shop.createCollection('folded', { collation: { locale: 'en', strength: 2 } });
    await admin({ shardCollection: 'shop.folded', key: { k: 1 }, collation: { locale: 'simple' } });
    if (client === wide.client) {
      await admin({ split: 'shop.rows', middle: { region: 5 } });
      await admin({ moveChunk: 'shop.rows', find: { region: 5 }, to: 'wide-1' });
      await admin({ split: 'shop.folded', middle: { k: 'b' } });
      await admin({ moveChunk: 'shop.folded', find: { k: 'b' }, to: 'wide-1' });
    }
    await shop.collection('rows').insertMany([...rows]);
    await shop.collection('rows').createIndexes([...indexes]);
    await shop.collection('hashed').insertMany(rows.slice(0, 100));
    const letters = ['b', 'A', 'c', 'D', 'x', 'Y'];
    await collectionOf(client, 'shop.folded').insertMany(letters.map((k) => ({ _id: k, k })));
    await shop.createCollection('few', { viewOn: 'rows', pipeline: [{ $match: { region: 1 } }] });
    const depot = client.db('depot');
    await admin({
      enableSharding: 'depot',
      primaryShard: client === wide.client ? 'wide-1' : 'single-0',
    });
    await depot.createCollection('log', { capped: true, size: 4096, max: 100 });
    for (const _id of [3, 1, 2]) await collectionOf(client, 'depot.log').insertOne({ _id });
    await depot.createCollection('clustered', {
      clusteredIndex: { key: { _id: 1 }, unique: true },
    });
    await depot.collection('clustered').insertMany(rows.slice(0, 10));
    await depot.createCollection('folded', { collation: { locale: 'en', strength: 2 } });
    await collectionOf(client, 'depot.folded').insertMany(letters.map((_id) => ({ _id })));
    await depot.createCollection('strict', { validator: { n: { $gt: 1 } } });
    await depot.createCollection('all', { viewOn: 'log', pipeline: [] });
  }

  function name(client: MongoClient): string {
    return client === wide.client ? 'wide' : 'single';
  }

  async function verify(source: Cluster, destination: Cluster): Promise<Progress> {
    const uris = { srcURI: source.uri('syncer'), destURI: destination.uri('syncer') };
    return (await verifyOnce(uris)).progress;
  }

  async function assertEqual(source: Cluster, destination: Cluster): Promise<void> {
    const { mismatches, verdict, documentsCompared } = await verify(source, destination);
    assert.deepEqual(mismatches, []);
    assert.equal(verdict, 'equal');
    assert.ok(documentsCompared > rowCount);
  }

  /** What a verification finds, until what was done is undone. */
  async function found(
    [source, destination]: readonly [Cluster, Cluster],
    change: () => Promise<unknown>,
    undo: () => Promise<unknown>,
  ): Promise<readonly MismatchView[]> {
    await change();
    try {
      const { mismatches, verdict } = await verify(source, destination);
      assert.equal(verdict, 'different');
      return mismatches;
    } finally {
      await undo();
    }
  }

  it('finds a replica set and a sharded cluster equal, whose shard keys have indexes of their own', async () => {
    await assertEqual(set, wide.cluster);
  });

  it('finds sharded clusters of different numbers of shards equal', async () => {
    await assertEqual(wide.cluster, single.cluster);
    await assertEqual(single.cluster, wide.cluster);
  });

  it('splits what lies on several shards into ranges that have each document once', async () => {
    await using cluster = createClusterClient({
      ...{ uri: wide.cluster.uri('syncer'), option: 'uri', appName: 'ranges' },
    });
    const { signal } = new AbortController();
    const namespace = { db: 'shop', coll: 'rows' };
    const { size } = await wide.client.db('shop').command({ collStats: 'rows' });
    const ranges = await splitRanges(cluster, namespace, signal, Number(size) / 10);
    assert.equal(ranges.length, 10);
    const readAfter = await timeOfAllShards(cluster, signal);
    const ids: unknown[] = [];
    for (const range of ranges) {
      const before = ids.length;
      for await (const { documents } of readRange(
        { cluster, isSharded: true, readAfter },
        namespace,
        range,
        signal,
      )) {
        for (const document of documents) ids.push(BSON.deserialize(document)['_id']);
      }
      assert.ok(ids.length - before > rowCount / 40, `${ids.length - before} documents`);
    }
    assert.deepEqual(ids, rows.map(({ _id }): unknown => _id).sort(inOrderOfIndex));
  });

  it('reads again after a time that a server has not heard of', async () => {
    const future = new Timestamp({ t: Math.floor(Date.now() / 1000) + 1000, i: 1 });
    const readConcern = { level: 'majority', afterClusterTime: future };
    const find = wide.client.db('shop').command({ find: 'rows', readConcern });
    await assert.rejects(find, isTimeNotHeardOf);
  });

  it('reads each cursor through the router that has opened it', async () => {
    const appName = 'cursors';
    await using cluster = createClusterClient({
      ...{ uri: wide.cluster.uri('syncer'), option: 'uri', appName },
    });
    const { signal } = new AbortController();
    const find = { find: 'rows', sort: { _id: 1 }, batchSize: 20 };
    const read = [1, 2, 3].map(async () => {
      await using cursor = await RawCursor.open(cluster.raw, 'shop', find, {
        signal,
        batchSize: 20,
      });
      let count = 0;
      for await (const { documents } of cursor.batches()) count += documents.length;
      return count;
    });
    assert.deepEqual(await Promise.all(read), [rowCount, rowCount, rowCount]);
  });

  it('finds what differs in the documents of a sharded collection', async () => {
    const items = wide.collection('shop.rows');
    const twin = { _id: 1, region: 9, text: 'row 1' };
    const [, , , , , five = {}, six = {}] = rows;
    const mismatches = await found(
      [set, wide.cluster],
      async () => {
        // On the shard that does not own it: the router does not show it.
        await items.deleteOne({ _id: 5, region: 5 });
        await collectionOf(wide.cluster.shardClient('wide-0'), 'shop.rows').insertOne(five as Item);
        await items.deleteOne({ _id: '6', region: 6 });
        await items.insertMany([twin, { _id: 'more', region: 1 }]);
        await items.updateOne({ _id: 8, region: 8 }, { $set: { text: 'other' } });
      },
      async () => {
        await collectionOf(wide.cluster.shardClient('wide-0'), 'shop.rows').deleteOne({ _id: 5 });
        await items.deleteMany({ _id: { $in: ['more', 1] }, region: { $in: [1, 9] } });
        await items.insertMany([{ ...twin, region: 1 }, five as Item, six as Item]);
        await items.updateOne({ _id: 8, region: 8 }, { $set: { text: 'row 8' } });
      },
    );
    const namespace = 'shop.rows';
    assert.deepEqual(sorted(mismatches), [
      {
        ...{ namespace, kind: 'differentDocument', id: '{"$numberInt":"8"}' },
        ...{ field: 'text', detail: 'another value' },
      },
      {
        ...{ namespace, kind: 'extraDocument', id: '"more"' },
      },
      {
        ...{ namespace, kind: 'extraDocument', id: '{"$numberInt":"1"}' },
        detail: 'another document has this _id',
      },
      { namespace, kind: 'missingDocument', id: '"6"' },
      { namespace, kind: 'missingDocument', id: '{"$numberInt":"5"}' },
    ]);
    await assertEqual(set, wide.cluster);
  });

  it('takes no other index on the destination for one that a shard key needs', async () => {
    const keys: Document[] = [{ region: -1 }, { region: 1, _id: 1 }, { text: 1, region: 1 }];
    const items = wide.collection('shop.rows');
    const names: string[] = [];
    const mismatches = await found(
      [set, wide.cluster],
      async () => {
        for (const key of keys)
          names.push(...(await items.createIndexes([{ key, name: JSON.stringify(key) }])));
      },
      async () => {
        for (const key of keys) await items.dropIndex(JSON.stringify(key));
      },
    );
    assert.deepEqual(
      sorted(mismatches).map(({ kind, index }) => [kind, index]),
      keys.map((key) => ['extraIndex', JSON.stringify(key)]),
    );
  });

  it('takes an index on the shard key for too many where the source has another that does', async () => {
    const index = { key: { region: 1, text: -1 }, name: 'both' } as const;
    const both = [collectionOf(setClient, 'shop.rows'), wide.collection('shop.rows')];
    const mismatches = await found(
      [set, wide.cluster],
      async () => await Promise.all(both.map(async (items) => await items.createIndexes([index]))),
      async () => await Promise.all(both.map(async (items) => await items.dropIndex('both'))),
    );
    assert.deepEqual(
      mismatches.map(({ kind, index: name }) => [kind, name]),
      [['extraIndex', 'region_1']],
    );
  });

  it('finds an index that one shard lacks, and one that it has alone', async () => {
    const [left, right] = wide.cluster.shards.map((shard) =>
      wide.cluster.shardClient(shard).db('shop').collection('rows'),
    ) as [Collection, Collection];
    const mismatches = await found(
      [single.cluster, wide.cluster],
      async () => {
        await right.dropIndex('by_text');
        await right.createIndex({ z: 1 }, { name: 'by_z' });
        await left.dropIndex('near');
        await left.createIndex({ place: '2dsphere' }, { name: 'near', sparse: true });
      },
      async () => {
        await right.dropIndex('by_z');
        await left.dropIndex('near');
        await wide.collection('shop.rows').createIndexes([...indexes]);
      },
    );
    const namespace = 'shop.rows';
    const detail = 'on wide-1 alone';
    assert.deepEqual(sorted(mismatches), [
      {
        ...{ namespace, kind: 'differentIndex', index: 'near' },
        ...{ field: 'sparse', detail: 'not on the source, on wide-0 alone' },
      },
      { namespace, kind: 'extraIndex', index: 'by_z', detail },
      { namespace, kind: 'missingIndex', index: 'by_text', detail },
    ]);
  });

  it('compares shard keys between sharded clusters', async () => {
    const shard = async (ground: ShardedGround, ns: string, key: Document): Promise<void> => {
      await ground.admin({ shardCollection: ns, key });
    };
    const mismatches = await found(
      [wide.cluster, single.cluster],
      async () => {
        for (const { client } of [wide, single]) {
          for (const name of ['one', 'other', 'another']) {
            await client
              .db('keys')
              .collection(name)
              .createIndexes([{ key: { k: 1 } }, { key: { l: 1 } }]);
          }
        }
        await shard(wide, 'keys.one', { k: 1 });
        await shard(single, 'keys.other', { k: 1 });
        await shard(wide, 'keys.another', { k: 1 });
        await shard(single, 'keys.another', { l: 1 });
      },
      async () => {
        for (const { client } of [wide, single]) await client.db('keys').dropDatabase();
      },
    );
    assert.deepEqual(sorted(mismatches), [
      {
        namespace: 'keys.another',
        kind: 'shardKey',
        field: 'key.k',
        detail: 'missing on the destination',
      },
      { namespace: 'keys.one', kind: 'shardKey', detail: 'sharded on the source alone' },
      { namespace: 'keys.other', kind: 'shardKey', detail: 'sharded on the destination alone' },
    ]);
  });

  it('compares the ranges of the zones that both clusters have', async () => {
    const range = { min: { region: 0 }, max: { region: 3 } };
    const setRange = async (ground: ShardedGround, zone: string | null): Promise<void> => {
      await ground.admin({ updateZoneKeyRange: 'shop.rows', ...range, zone });
    };
    const zones = [
      [wide, 'wide-1', ['north', 'south']],
      [single, 'single-0', ['north']],
    ] as const;
    for (const [ground, shard, names] of zones) {
      for (const zone of names) await ground.admin({ addShardToZone: shard, zone });
    }
    await setRange(wide, 'south');
    await assertEqual(wide.cluster, single.cluster);
    await setRange(wide, null);
    const mismatches = await found(
      [wide.cluster, single.cluster],
      async () => {
        await setRange(wide, 'north');
      },
      async () => {
        await setRange(single, 'north');
      },
    );
    assert.deepEqual(mismatches, [
      {
        namespace: 'shop.rows',
        kind: 'zone',
        field: 'north',
        detail: 'a range missing on the destination',
      },
    ]);
    await assertEqual(wide.cluster, single.cluster);
    for (const ground of [wide, single]) await setRange(ground, null);
    for (const [ground, shard, names] of zones) {
      for (const zone of names) await ground.admin({ removeShardFromZone: shard, zone });
    }
  });

  describe('while both sides are written to', () => {
    beforeEach(async () => {
      for (const [client, ground] of [
        [setClient, undefined],
        [wide.client, wide],
        [single.client, single],
      ] as const) {
        const live = client.db('live');
        await live.dropDatabase();
        await ground?.admin({ enableSharding: 'live', primaryShard: ground.cluster.shards.at(-1) });
        await ground?.admin({ shardCollection: 'live.rows0', key: { _id: 'hashed' } });
        await ground?.admin({ shardCollection: 'live.rows1', key: { _id: 1 } });
        await ground?.admin({ shardCollection: 'live.many', key: { value: 1 } });
        await live.createCollection('capped', { capped: true, size: 4096 });
        const many = Array.from({ length: 1000 }, (_, value) => ({ _id: value, value }));
        await collectionOf(client, 'live.many').insertMany(many);
      }
      await wide.admin({ split: 'live.rows1', middle: { _id: 150 } });
      await wide.admin({ split: 'live.many', middle: { value: 500 } });
    });

    /** Moves chunks of the wide cluster to and fro until the signal is aborted. */
    async function moveChunks(signal: AbortSignal): Promise<number> {
      let moves = 0;
      for (; !signal.aborted; moves++) {
        const to = `wide-${moves % 2}`;
        await wide.admin({ moveChunk: 'live.many', find: { value: 0 }, to });
        const move = { moveChunk: 'live.rows1', find: { _id: 0 }, to };
        // Its options are being changed.
        await wide.admin(move).catch((error: unknown) => {
          if (codeOf(error) !== lockBusy) throw error;
        });
      }
      return moves;
    }

    /** Verifies while the same is written to both sides, and one document is lost. */
    async function loseOne(
      [from, source]: readonly [Cluster, MongoClient],
      [to, destination]: readonly [Cluster, MongoClient],
      seed: number,
    ): Promise<readonly MismatchView[]> {
      await using session = await openSession({
        srcURI: from.uri('syncer'),
        destURI: to.uri('syncer'),
      });
      await session.post('check');
      const isWritten = new AbortController();
      const moving = moveChunks(isWritten.signal);
      const options = { seed, operations: 250 };
      const writing = writeToBoth(source.db('live'), destination.db('live'), options);
      await until('the first pass is over', async () => (await session.progress()).generation > 0);
      await collectionOf(destination, 'live.many').deleteOne({ _id: 77, value: 77 });
      await writing;
      isWritten.abort();
      assert.ok((await moving) > 0);
      await session.post('writesOff');
      return (await session.untilComplete()).mismatches;
    }

    const lost = { namespace: 'live.many', kind: 'missingDocument', id: '{"$numberInt":"77"}' };

    for (let seed = 1; seed <= runs; seed++) {
      it(`finds the one fault on the way to a sharded cluster, seed ${seed}`, async () => {
        const found = await loseOne([set, setClient], [wide.cluster, wide.client], seed);
        assert.deepEqual(found, [lost]);
      });

      it(`finds the one fault on the way from a sharded cluster, seed ${seed}`, async () => {
        const source = [wide.cluster, wide.client] as const;
        const found = await loseOne(source, [single.cluster, single.client], seed);
        assert.deepEqual(found, [lost]);
      });
    }
  });
});

/** Numbers before texts. */
function inOrderOfIndex(left: unknown, right: unknown): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left === typeof right) return String(left) < String(right) ? -1 : 1;
  return typeof left === 'number' ? -1 : 1;
}

function sorted(mismatches: readonly MismatchView[]): MismatchView[] {
  const text = (view: MismatchView): string =>
    `${view.namespace} ${view.kind} ${view.id ?? view.index ?? ''}`;
  return mismatches.toSorted((one, other) => (text(one) < text(other) ? -1 : 1));
}
