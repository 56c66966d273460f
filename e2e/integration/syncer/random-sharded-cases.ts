import assert from 'node:assert/strict';
import type { MongoClient } from 'mongodb';
import { messageOf } from '../../../service/errors.ts';
import { longOperations } from '../../ground/sharded/long-operations.ts';
import { startInstances } from './instances.ts';
import { ShardedWorkload } from './sharded-workload.ts';
import type { PairToSync } from './sharded-pair.ts';
import { syncThroughKills } from './sync-through-kills.ts';

/** The index that the server creates for `{_id: 'hashed'}`. */
const hashedIdIndex = '_id_hashed';

/** One random workload. */
export interface ShardedCase {
  /** Who syncs: one for the whole source, or one for each of its shards. */
  readonly by: 'one instance' | 'two instances' | 'three instances';
  readonly seed: number;
}

/**
 * Defines the tests of random workloads on a sharded source: to be called in `describe`.
 *
 * The invariant: whatever is written to the sharded source, with shard keys changed, collections sharded and renamed and
 * chunks moved, and whenever the syncer is killed, after the commit both sides are equal byte for byte, and each document
 * is on one shard. Odd seeds let the syncers live; even ones kill one during the copy, the changes and the commit.
 *
 * All seeds of a file share a pair of clusters: to start one takes 5 s of CPU time, of the 20 that a seed takes.
 */
export function testRandomShardedWorkloads(
  pair: PairToSync,
  cases: readonly ShardedCase[],
  { isRepaired = false }: { readonly isRepaired?: boolean } = {},
): void {
  beforeEach(async () => {
    await pair.reset();
  });

  for (const { by, seed } of cases) {
    it(`ends in equal clusters, synced by ${by}, seed ${seed}`, async () => {
      const { ground } = pair.source;
      assert.ok(ground);
      const workload = new ShardedWorkload(ground.client, ground.cluster.shards, seed);
      await workload.prepare();
      try {
        await syncThroughKills(pair, seed, {
          ...(by !== 'one instance' && {
            startAll: async (settings) => await startInstances(pair, settings),
          }),
          isRepaired,
          write: async (signal) => {
            await workload.run(3, signal);
          },
          hasWritten: () => (workload.counts['done'] ?? 0) > 100,
        });
      } catch (error) {
        const operations = await longOperations(ground.cluster);
        const counts = JSON.stringify(workload.counts);
        throw new Error(`${messageOf(error)}\nwriters: ${counts}\nsource: ${operations}`, {
          cause: error,
        });
      }
      await pair.assertEqual({ mayBeExtra: await droppedIndexes(ground.client) });
    });
  }
}

/**
 * The index that the destination may have in addition: since 6.0.12, a source can drop the index of a hashed shard key (seen on
 * 6.0.27), and sharding the collection on the destination creates it.
 */
async function droppedIndexes(source: MongoClient): Promise<readonly string[]> {
  const mayBeExtra: string[] = [];
  const collections = source.db('config').collection<{ _id: string }>('collections');
  for await (const { _id: ns } of collections.find({ 'key._id': 'hashed' })) {
    const dot = ns.indexOf('.');
    const indexes = await source
      .db(ns.slice(0, dot))
      .collection(ns.slice(dot + 1))
      .indexes();
    if (!indexes.some(({ name }) => name === hashedIdIndex))
      mayBeExtra.push(`${ns} ${hashedIdIndex}`);
  }
  return mayBeExtra;
}
