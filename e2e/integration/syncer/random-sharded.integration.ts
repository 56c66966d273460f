import assert from 'node:assert/strict';
import { useShardedPair } from './sharded-pair.ts';
import { ShardedWorkload } from './sharded-workload.ts';
import { syncThroughKills } from './sync-through-kills.ts';

/** One seed by its number with SEED=17, the first 100 with SEEDS=100. By default one for each number of shards: 2, 3. */
const { SEED, SEEDS } = process.env;
const seedsFor = (shards: number): number[] =>
  SEEDS === undefined
    ? [Number(SEED ?? shards)]
    : Array.from({ length: Number(SEEDS) }, (_, index) => index + 1);

/**
 * The invariant: whatever is written to the sharded source, with shard keys changed, collections sharded and renamed and
 * chunks moved, and whenever the syncer is killed, after the commit both sides are equal byte for byte, and each document
 * is on one shard. Odd seeds let the syncers live; even ones kill one during the copy, the changes and the commit.
 */
for (const [shards, isShared] of [
  [2, false],
  [2, true],
  [3, true],
] as const) {
  const by = isShared ? 'two instances' : 'one instance';
  describe(`a random workload on two shards, synced to ${shards} by ${by}`, function () {
    this.timeout(400_000);
    const pair = useShardedPair(shards, 2);

    beforeEach(async () => {
      await pair.reset();
    });

    for (const seed of seedsFor(shards)) {
      it(`ends in equal clusters, seed ${seed}`, async () => {
        const { ground } = pair.source;
        assert.ok(ground);
        const workload = new ShardedWorkload(ground.client, ground.cluster.shards, seed);
        await workload.prepare();
        await syncThroughKills(pair, seed, {
          isShared,
          write: async (signal) => {
            await workload.run(3, signal);
          },
          hasWritten: () => (workload.counts['done'] ?? 0) > 100,
        });
        await pair.assertEqual();
      });
    }
  });
}
