import type { Document } from 'mongodb';
import { RandomWorkload } from '../../ground/workload/random-workload.ts';
import { until } from '../../ground/until.ts';
import type { Instances } from './instances.ts';
import { shardingEntry, useShardedPair } from './sharded-pair.ts';
import { syncThroughKills } from './sync-through-kills.ts';
import { chosenSeeds, firstSeeds } from '../../ground/workload/chosen-seeds.ts';

const seeds = chosenSeeds(firstSeeds(6), { perDay: 1 });

/** Half of the collections of the workload. */
const sharded = [
  ['load_a', 'one'],
  ['load_a', 'three'],
  ['load_b', 'two'],
  ['load_b', 'Five.with.dots'],
] as const;

const refusal = /"InvalidShardKey".* is a (?:capped collection|view), and cannot be sharded/;

/**
 * The invariant: whatever is written to the replica set, shard keys changed and collections renamed among it, and whenever
 * the syncer is killed, after the commit both sides are equal byte for byte, and each document is on one shard. Odd seeds
 * let the syncer live; even ones kill it during the copy, the changes and the commit.
 */
describe('a random workload on the way into a sharded cluster', () => {
  const pair = useShardedPair(2);
  /** What is sharded, of the names that are sometimes capped collections or views when the sync begins. */
  async function sharding(): Promise<object> {
    const shardingEntries: object[] = [];
    for (const [db, coll] of sharded) {
      const infos = pair.source.client.db(db).listCollections({ name: coll });
      const info: Document | undefined = (await infos.toArray())[0];
      const options = info?.['options'] as Document | undefined;
      const isPlain = info?.['type'] !== 'view' && options?.['capped'] !== true;
      if (isPlain) shardingEntries.push(shardingEntry(`${db}.${coll}`, { number: 1 }));
    }
    return { createSupportingIndexes: true, shardingEntries };
  }

  /** The writers may have made a listed collection capped, or a view, since it was listed: the start is refused by its name then. */
  async function startSharding(instances: Instances, body: object): Promise<void> {
    await until('the start is taken', async () => {
      try {
        await instances.start({ ...body, sharding: await sharding() });
        return true;
      } catch (error) {
        if (refusal.test(String(error))) return false;
        throw error;
      }
    });
  }

  beforeEach(async () => {
    await pair.reset();
  });

  for (const seed of seeds) {
    it(`ends in equal clusters, seed ${seed}`, async () => {
      const workload = new RandomWorkload(pair.source.client, seed, { isSharded: true });
      await workload.prepare();
      await syncThroughKills(pair, seed, {
        write: async (signal) => {
          await workload.run(3, signal);
        },
        hasWritten: () => (workload.counts['done'] ?? 0) > 100,
        start: startSharding,
      });
      await pair.assertEqual({ mayBeExtra: ['number_1', 'clustersync_shard_key'] });
    });
  }
});
