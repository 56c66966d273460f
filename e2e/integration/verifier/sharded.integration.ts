import assert from 'node:assert/strict';
import { BSON, Timestamp, type Document } from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { RawCursor } from '../../../mongo/raw-cursor.ts';
import { timeOfAllShards } from '../../../mongo/cluster-time.ts';
import { codeOf, isTimeNotHeardOf } from '../../../mongo/server-errors.ts';
import { TokenBucket } from '../../../service/token-bucket.ts';
import type { MismatchView } from '../../../verifier/compare/mismatch.ts';
import { readRange } from '../../../verifier/compare/read-documents.ts';
import { splitRanges } from '../../../verifier/compare/split-ranges.ts';
import { collectionOf, type Item } from '../../ground/sharded/use-sharded-cluster.ts';
import { until } from '../../ground/until.ts';
import {
  assertEqual,
  found,
  indexes,
  rowCount,
  rows,
  uriOfUser,
  urisOf,
  useDeployments,
  type Deployment,
  type ShardedDeployment,
} from './deployments.ts';
import { writeToBoth } from './mirrored-writer.ts';
import { openSession } from './verifier-session.ts';

/** How often a run while both sides are written to is repeated. More: VERIFIER_RUNS=20. */
const runs = Number(process.env['VERIFIER_RUNS'] ?? 1);

/** Errors of moving a chunk whose collection is just being changed: LockBusy (6.0), ConflictingOperationInProgress (7.0). */
const chunkMoveRefusals: readonly (number | undefined)[] = [46, 117];

describe('the verifier with sharded clusters', () => {
  const deployments = useDeployments();

  it('finds a replica set and a sharded cluster equal, whose shard keys have indexes of their own', async () => {
    const { set, wide } = deployments;
    const reader = ['readAnyDatabase'];
    const source = { uri: await uriOfUser(set, 'reader', reader) };
    const destination = await uriOfUser(wide, 'monitor', [...reader, 'clusterMonitor']);
    const { metaURI } = wide;
    await assertEqual(source, { uri: destination, metaURI });
    const options = urisOf(source, { uri: await uriOfUser(wide, 'reader', reader), metaURI });
    await using session = await openSession(options);
    await session.post('check');
    await until('it is known that the rights are not enough', async () => {
      const { error } = await session.progress();
      return error?.startsWith('MissingPrivileges: not authorized on config') === true;
    });
  });

  it('finds sharded clusters of different numbers of shards equal', async () => {
    const { wide, single } = deployments;
    await assertEqual(wide, single);
    await assertEqual(single, wide);
    await assertEqual(wide, single, 'hashes');
  });

  it('passes over a collection that the source keeps for a command alone', async () => {
    const { set, wide } = deployments;
    const o = { create: 'tmp.agg_out.1', temp: true };
    await set.client.db('admin').command({ applyOps: [{ op: 'c', ns: 'shop.$cmd', o }] });
    try {
      await assertEqual(set, wide);
    } finally {
      await set.client.db('shop').dropCollection('tmp.agg_out.1');
    }
  });

  it('splits what lies on several shards into ranges that have each document once', async () => {
    const { client, uri } = deployments.wide;
    await using cluster = createClusterClient({ uri, option: 'uri', appName: 'ranges' });
    const { signal } = new AbortController();
    const readPreference = 'primary';
    const namespace = { db: 'shop', coll: 'rows' };
    const { size, count } = await client.db('shop').command({ collStats: 'rows' });
    const amount = { documents: Number(count), bytes: Number(size) };
    const split = { namespace, options: {}, amount };
    const rangeBytes = Math.ceil(amount.bytes / 10);
    const ranges = await splitRanges({ cluster, isSharded: true }, split, rangeBytes, {
      signal,
      readPreference,
    });
    assert.equal(ranges.length, 10);
    const readAfter = await timeOfAllShards(cluster, signal);
    const side = { cluster, isSharded: true, readAfter };
    const rateLimit = new TokenBucket(0);
    const reading = { signal, rateLimit, readPreference: 'primary' } as const;
    const ids: unknown[] = [];
    for (const range of ranges) {
      const before = ids.length;
      for await (const { documents } of readRange(reading, side, namespace, range))
        for (const document of documents) ids.push(BSON.deserialize(document)['_id']);
      assert.ok(ids.length - before > rowCount / 40, `${ids.length - before} documents`);
    }
    assert.deepEqual(ids, rows.map(({ _id }): unknown => _id).sort(inOrderOfIndex));
  });

  it('reads again after a time that a server has not heard of', async () => {
    const future = new Timestamp({ t: Math.floor(Date.now() / 1000) + 1000, i: 1 });
    const readConcern = { level: 'majority', afterClusterTime: future };
    const find = { find: 'rows', readConcern };
    const reading = deployments.wide.client.db('shop').command(find);
    await assert.rejects(reading, isTimeNotHeardOf);
  });

  it('reads each cursor through the router that has opened it', async () => {
    const { uri } = deployments.wide;
    await using cluster = createClusterClient({ uri, option: 'uri', appName: 'cursors' });
    const options = { signal: new AbortController().signal, batchSize: 20 };
    const find = { find: 'rows', sort: { _id: 1 }, batchSize: 20 };
    const read = [1, 2, 3].map(async () => {
      await using cursor = await RawCursor.open(cluster.raw, 'shop', find, options);
      let count = 0;
      for await (const { documents } of cursor.batches()) count += documents.length;
      return count;
    });
    assert.deepEqual(await Promise.all(read), [rowCount, rowCount, rowCount]);
  });

  it('finds what differs in the documents of a sharded collection', async () => {
    const { set, wide } = deployments;
    const items = wide.ground.collection('shop.rows');
    const other = collectionOf(wide.ground.cluster.shardClient('wide-0'), 'shop.rows');
    const twin = { _id: 1, region: 9, text: 'row 1' };
    const [, , , , , five = {}, six = {}] = rows;
    const mismatches = await found(
      [set, wide],
      async () => {
        // On the shard that does not own it: the router does not show it.
        await items.deleteOne({ _id: 5, region: 5 });
        await other.insertOne(five as Item);
        await items.deleteOne({ _id: '6', region: 6 });
        await items.insertMany([twin, { _id: 'more', region: 1 }]);
        await items.updateOne({ _id: 8, region: 8 }, { $set: { text: 'other' } });
      },
      async () => {
        await other.deleteOne({ _id: 5 });
        await items.deleteMany({ _id: { $in: ['more', 1] }, region: { $in: [1, 9] } });
        await items.insertMany([{ ...twin, region: 1 }, five as Item, six as Item]);
        await items.updateOne({ _id: 8, region: 8 }, { $set: { text: 'row 8' } });
      },
    );
    const namespace = 'shop.rows';
    assert.deepEqual(mismatches, [
      {
        ...{ namespace, kind: 'differentDocument', id: '{"$numberInt":"8"}' },
        ...{ field: 'text', detail: 'another value' },
        ...{ sourceType: 'string', destinationType: 'string' },
      },
      { namespace, kind: 'extraDocument', id: '"more"' },
      {
        ...{ namespace, kind: 'extraDocument', id: '{"$numberInt":"1"}' },
        detail: 'another document has this _id',
      },
      { namespace, kind: 'missingDocument', id: '"6"' },
      { namespace, kind: 'missingDocument', id: '{"$numberInt":"5"}' },
    ]);
    await assertEqual(set, wide);
  });

  it('takes no other index on the destination for one that a shard key needs', async () => {
    const { set, wide } = deployments;
    const keys: Document[] = [{ region: -1 }, { region: 1, _id: 1 }, { text: 1, region: 1 }];
    const items = wide.ground.collection('shop.rows');
    const mismatches = await found(
      [set, wide],
      async () => {
        for (const key of keys) await items.createIndexes([{ key, name: JSON.stringify(key) }]);
      },
      async () => {
        for (const key of keys) await items.dropIndex(JSON.stringify(key));
      },
    );
    assert.deepEqual(
      mismatches.map(({ kind, index }) => [kind, index]),
      keys.map((key) => ['extraIndex', JSON.stringify(key)]),
    );
  });

  it('takes an index on the shard key for too many where the source has another that does', async () => {
    const index = { key: { region: 1, text: -1 }, name: 'both' } as const;
    const { set, wide } = deployments;
    const both = [set, wide].map(({ client }) => collectionOf(client, 'shop.rows'));
    const mismatches = await found(
      [set, wide],
      async () => await Promise.all(both.map(async (items) => await items.createIndexes([index]))),
      async () => await Promise.all(both.map(async (items) => await items.dropIndex('both'))),
    );
    assert.deepEqual(
      mismatches.map(({ kind, index: name }) => [kind, name]),
      [['extraIndex', 'region_1']],
    );
  });

  it('finds an index that one shard lacks, and one that it has alone', async () => {
    const { wide, single } = deployments;
    const { cluster } = wide.ground;
    const left = collectionOf(cluster.shardClient('wide-0'), 'shop.rows');
    const right = collectionOf(cluster.shardClient('wide-1'), 'shop.rows');
    const mismatches = await found(
      [single, wide],
      async () => {
        await right.dropIndex('by_text');
        await right.createIndexes([{ key: { z: 1 }, name: 'by_z' }]);
        await left.dropIndex('near');
        await left.createIndexes([{ key: { place: '2dsphere' }, name: 'near', sparse: true }]);
      },
      async () => {
        await right.dropIndex('by_z');
        await left.dropIndex('near');
        await wide.ground.collection('shop.rows').createIndexes([...indexes]);
      },
    );
    const namespace = 'shop.rows';
    const detail = 'only on wide-1';
    assert.deepEqual(mismatches, [
      {
        ...{ namespace, kind: 'differentIndex', index: 'near' },
        ...{ field: 'sparse', detail: 'not on the source, only on wide-0' },
      },
      { namespace, kind: 'extraIndex', index: 'by_z', detail },
      { namespace, kind: 'missingIndex', index: 'by_text', detail },
    ]);
  });

  it('takes an index that one shard of the source lacks for none of the collection', async () => {
    const { wide, single } = deployments;
    const right = collectionOf(wide.ground.cluster.shardClient('wide-1'), 'shop.rows');
    const copies = collectionOf(single.client, 'shop.rows');
    const byText = { key: { text: 1 }, name: 'by_text' } as const;
    await right.dropIndex('by_text');
    try {
      const mismatches = await found(
        [wide, single],
        () => Promise.resolve(),
        async () => {
          await copies.dropIndex('by_text');
        },
      );
      const namespace = 'shop.rows';
      assert.deepEqual(mismatches, [{ namespace, kind: 'extraIndex', index: 'by_text' }]);
      await assertEqual(wide, single);
    } finally {
      await right.createIndexes([byText]);
      await copies.createIndexes([byText]);
    }
  });

  it('compares shard keys between sharded clusters', async () => {
    const { wide, single } = deployments;
    const mismatches = await found(
      [wide, single],
      async () => {
        for (const { client } of [wide, single]) {
          for (const name of ['one', 'other', 'another']) {
            const keys = [{ key: { k: 1 } }, { key: { l: 1 } }];
            await client.db('keys').collection(name).createIndexes(keys);
          }
        }
        await wide.ground.admin({ shardCollection: 'keys.one', key: { k: 1 } });
        await single.ground.admin({ shardCollection: 'keys.other', key: { k: 1 } });
        await wide.ground.admin({ shardCollection: 'keys.another', key: { k: 1 } });
        await single.ground.admin({ shardCollection: 'keys.another', key: { l: 1 } });
      },
      async () => {
        for (const { client } of [wide, single]) await client.db('keys').dropDatabase();
      },
    );
    assert.deepEqual(mismatches, [
      {
        namespace: 'keys.another',
        kind: 'shardKey',
        field: 'key.k',
        detail: 'missing on the destination',
      },
      { namespace: 'keys.one', kind: 'shardKey', detail: 'sharded only on the source' },
      { namespace: 'keys.other', kind: 'shardKey', detail: 'sharded only on the destination' },
    ]);
  });

  it('compares the ranges of the zones that both clusters have', async () => {
    const { wide, single } = deployments;
    const range = { min: { region: 0 }, max: { region: 3 } };
    const setRange = async ({ ground }: ShardedDeployment, zone: string | null): Promise<void> => {
      await ground.admin({ updateZoneKeyRange: 'shop.rows', ...range, zone });
    };
    const eachZone = async (command: string): Promise<void> => {
      await wide.ground.admin({ [command]: 'wide-1', zone: 'north' });
      await wide.ground.admin({ [command]: 'wide-1', zone: 'south' });
      await single.ground.admin({ [command]: 'single-0', zone: 'north' });
    };
    await eachZone('addShardToZone');
    await setRange(wide, 'south');
    await assertEqual(wide, single);
    await setRange(wide, null);
    const mismatches = await found(
      [wide, single],
      async () => {
        await setRange(wide, 'north');
      },
      async () => {
        await setRange(single, 'north');
      },
    );
    const detail = 'a range missing on the destination';
    assert.deepEqual(mismatches, [
      { namespace: 'shop.rows', kind: 'zone', field: 'north', detail },
    ]);
    await assertEqual(wide, single);
    for (const side of [wide, single]) await setRange(side, null);
    await eachZone('removeShardFromZone');
  });

  describe('while both sides are written to', () => {
    beforeEach(async () => {
      const { set, wide, single } = deployments;
      for (const { client } of [set, wide, single]) await client.db('live').dropDatabase();
      for (const { ground } of [wide, single]) {
        const primaryShard = ground.cluster.shards.at(-1);
        await ground.admin({ enableSharding: 'live', primaryShard });
        await ground.admin({ shardCollection: 'live.rows0', key: { _id: 'hashed' } });
        await ground.admin({ shardCollection: 'live.rows1', key: { _id: 1 } });
        await ground.admin({ shardCollection: 'live.many', key: { value: 1 } });
      }
      for (const name of ['rows0', 'rows1']) await set.client.db('live').createCollection(name);
      await wide.ground.admin({ split: 'live.rows1', middle: { _id: 150 } });
      await wide.ground.admin({ split: 'live.many', middle: { value: 500 } });
      const many = Array.from({ length: 1000 }, (_, value) => ({ _id: value, value }));
      for (const { client } of [set, wide, single]) {
        await client.db('live').createCollection('capped', { capped: true, size: 4096 });
        await collectionOf(client, 'live.many').insertMany(many);
      }
    });

    /** Moves chunks of the wide cluster to and fro until the signal is aborted. */
    async function moveChunks(signal: AbortSignal): Promise<number> {
      const { ground } = deployments.wide;
      let moves = 0;
      for (; !signal.aborted; moves++) {
        const to = `wide-${moves % 2}`;
        await ground.admin({ moveChunk: 'live.many', find: { value: 0 }, to });
        const move = { moveChunk: 'live.rows1', find: { _id: 0 }, to };
        // Its options may be just being changed.
        await ground.admin(move).catch((error: unknown) => {
          if (!chunkMoveRefusals.includes(codeOf(error))) throw error;
        });
      }
      return moves;
    }

    /** Verifies while the same is written to both sides and chunks move; one document is lost on the way. */
    async function loseOne(
      source: Deployment,
      destination: Deployment,
      seed: number,
    ): Promise<readonly MismatchView[]> {
      await using session = await openSession(urisOf(source, destination));
      await session.post('check');
      const isWritten = new AbortController();
      const write = async (): Promise<void> => {
        const sides = [source.client.db('live'), destination.client.db('live')] as const;
        await writeToBoth(...sides, { seed, operations: 180 });
        isWritten.abort();
      };
      const lose = async (): Promise<void> => {
        await until(
          'the first pass is over',
          async () => (await session.progress()).generation > 0,
        );
        await collectionOf(destination.client, 'live.many').deleteOne({ _id: 77, value: 77 });
      };
      const [moves] = await Promise.all([moveChunks(isWritten.signal), write(), lose()]);
      assert.ok(moves > 0);
      await session.post('writesOff');
      return (await session.untilComplete()).mismatches;
    }

    const lost = { namespace: 'live.many', kind: 'missingDocument', id: '{"$numberInt":"77"}' };

    it('continues when the routers are killed and restarted', async () => {
      const { set, wide } = deployments;
      await using session = await openSession(urisOf(set, wide));
      await session.post('check');
      const isOver = async (): Promise<boolean> => {
        const { totalTasks, completedTasks } = (await session.progress()).verificationStatus;
        return totalTasks > 0 && completedTasks === totalTasks;
      };
      await until('the first pass is over', isOver);
      await wide.ground.cluster.killRouters();
      await wide.ground.cluster.restartRouters();
      await collectionOf(wide.client, 'live.many').deleteOne({ _id: 77, value: 77 });
      await session.post('writesOff');
      assert.deepEqual((await session.untilComplete()).mismatches, [lost]);
    });

    for (let seed = 1; seed <= runs; seed++) {
      it(`finds the one fault on the way to a sharded cluster, seed ${seed}`, async () => {
        assert.deepEqual(await loseOne(deployments.set, deployments.wide, seed), [lost]);
      });

      it(`finds the one fault on the way from a sharded cluster, seed ${seed}`, async () => {
        assert.deepEqual(await loseOne(deployments.wide, deployments.single, seed), [lost]);
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
