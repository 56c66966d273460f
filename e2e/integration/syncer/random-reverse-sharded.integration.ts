import assert from 'node:assert/strict';
import { reverseThroughKills } from './reverse-through-kills.ts';
import { useShardedPair } from './sharded-pair.ts';
import { ShardedWorkload } from './sharded-workload.ts';
import { skipUnlessReversible } from './skip-reversal.ts';
import { chosenSeeds, firstSeeds } from '../../ground/workload/chosen-seeds.ts';

const seeds = chosenSeeds(firstSeeds(6), { perDay: 1 });

/** As between replica sets (random-reverse.integration.ts), with shard keys changed, collections sharded and chunks moved. */
describe('a random workload on the new sharded cluster, and reversals', () => {
  before(async function () {
    await skipUnlessReversible(this);
  });

  const pair = useShardedPair(2, 2);
  beforeEach(async () => {
    await pair.reset();
  });

  for (const seed of seeds) {
    it(`is carried back, seed ${seed}`, async () => {
      const { ground } = pair.source;
      assert.ok(ground);
      const grounds = { cluster0: ground, cluster1: pair.destination };
      await new ShardedWorkload(ground.client, ground.cluster.shards, seed).prepare();
      await using syncer = await pair.syncer();
      await reverseThroughKills(syncer, seed, {
        writers: 1,
        workload(name, writerSeed) {
          const { client, cluster } = grounds[name];
          return new ShardedWorkload(client, cluster.shards, writerSeed);
        },
      });
      await pair.assertEqual();
    });
  }
});
