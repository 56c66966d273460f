import { chosenSeeds, firstSeeds } from '../../ground/workload/chosen-seeds.ts';
import { RandomWorkload } from '../../ground/workload/random-workload.ts';
import { useClusterPair } from './cluster-pair.ts';
import { startNumbered } from './instances.ts';
import { syncThroughKills } from './sync-through-kills.ts';

/**
 * The invariant: whatever is written to a replica set that two instances sync, and whenever one of them is killed, after the commit
 * both sides are equal byte for byte. Odd seeds let them live; even ones kill one during the copy, the changes and the commit.
 */
describe('a random workload on a replica set, synced by two instances', () => {
  const pair = useClusterPair();
  beforeEach(async () => {
    await pair.reset();
  });

  for (const seed of chosenSeeds(firstSeeds(6), { perDay: 1 })) {
    it(`ends in equal clusters, seed ${seed}`, async () => {
      const workload = new RandomWorkload(pair.source.client, seed);
      await workload.prepare();
      await syncThroughKills(pair, seed, {
        startAll: async (settings) => await startNumbered(pair, 2, settings),
        write: async (signal) => {
          await workload.run(3, signal);
        },
        hasWritten: () => (workload.counts['done'] ?? 0) > 100,
      });
      await pair.assertEqual();
    });
  }
});
