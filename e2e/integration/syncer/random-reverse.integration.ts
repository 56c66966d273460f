import { RandomWorkload } from '../../ground/workload/random-workload.ts';
import { useClusterPair } from './cluster-pair.ts';
import { reverseThroughKills, type SideName } from './reverse-through-kills.ts';
import { canBeSlow, slowCommands } from './slow-commands.ts';
import { skipUnlessReversible } from './skip-reversal.ts';
import { chosenSeeds, firstSeeds } from '../../ground/workload/chosen-seeds.ts';

const seeds = chosenSeeds(firstSeeds(6), { perDay: 1 });

/**
 * The invariant of reversedState: whatever users write to the new deployment from when they may, while the commit still
 * restores its indexes and after it, and wherever the syncer is killed in the commit and the reversal: when the reversed
 * sync is committed, both sides are equal byte for byte. Then the same the other way round.
 */
describe('a random workload on the new deployment, and reversals', () => {
  before(async function () {
    await skipUnlessReversible(this);
  });

  const pair = useClusterPair({ parameters: canBeSlow });
  const side = (name: SideName) => (name === 'cluster0' ? pair.source : pair.destination);
  beforeEach(async () => {
    await pair.reset();
  });

  for (const seed of seeds) {
    it(`is carried back, seed ${seed}`, async () => {
      await new RandomWorkload(pair.source.client, seed).prepare();
      await using syncer = await pair.syncer();
      await reverseThroughKills(syncer, seed, {
        writers: 3,
        workload: (name, writerSeed) => new RandomWorkload(side(name).client, writerSeed),
        slow: async (name) => await slowCommands(side(name), ['drop', 'collMod'], 20),
      });
      await pair.assertEqual();
    });
  }
});
