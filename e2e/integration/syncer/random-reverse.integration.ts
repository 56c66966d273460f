import assert from 'node:assert/strict';
import { sleep } from '../../../service/sleep.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { RandomWorkload } from '../../ground/workload/random-workload.ts';
import { SeededRandom } from '../../ground/workload/seeded-random.ts';
import { forward, useClusterPair, type Side } from './cluster-pair.ts';
import { canBeSlow, slowCommands } from './slow-commands.ts';

/** One seed by number: `SEED=17`, or the first so many: `SEEDS=50`. */
const seeds =
  process.env['SEED'] === undefined
    ? Array.from({ length: Number(process.env['SEEDS'] ?? 2) }, (_, index) => index + 1)
    : [Number(process.env['SEED'])];

const never = new AbortController().signal;

/**
 * The invariant of reversedState: whatever users write to the new deployment from when they may, while the commit still
 * restores its indexes and after it, and wherever the syncer is killed in the commit and the reversal: when the reversed
 * sync is committed, both sides are equal byte for byte. Then the same the other way round.
 */
describe('a random workload on the new deployment, and reversals', function () {
  this.timeout(120_000);
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
  });

  for (const seed of seeds) {
    it(`is carried back, seed ${seed}`, async () => {
      const chance = new SeededRandom(seed);
      await new RandomWorkload(pair.source.client, seed).prepare();
      await using syncer = await pair.syncer();
      const body = { ...forward, reversible: true, enableUserWriteBlocking: true };
      await writing(pair.source, seed, async () => {
        await syncer.start(body);
        await syncer.waitFor(({ canCommit }) => canCommit);
      });
      const sides = [pair.destination, pair.source];
      for (const [round, used] of sides.entries()) {
        await syncer.waitFor(({ canCommit }) => canCommit);
        await syncer.commit();
        await killed(syncer, chance, 300);
        await syncer.waitFor(({ canWrite }) => canWrite === true);
        await writing(used, seed * 10 + round, async () => {
          await syncer.waitFor(({ state }) => state === 'COMMITTED');
          await sleep(chance.below(400), never);
          const other = sides[1 - round] ?? used;
          await using slow = await slowCommands(other, ['drop', 'collMod'], 20);
          assert.equal((await syncer.post('reverse', {})).status, 200);
          await killed(syncer, chance, 500);
          await killed(syncer, chance, 500);
          await slow[Symbol.asyncDispose]();
          await syncer.waitFor(({ canCommit }) => canCommit);
          await sleep(200, never);
        });
      }
      await syncer.waitFor(({ canCommit }) => canCommit);
      await syncer.commit();
      await syncer.waitFor(({ state }) => state === 'COMMITTED');
      await pair.assertEqual();
    });
  }

  /** Runs a task while three writers write to a side; then they stop. */
  async function writing({ client }: Side, seed: number, task: () => Promise<void>): Promise<void> {
    const workload = new RandomWorkload(client, seed);
    const stop = new AbortController();
    const written = workload.run(3, stop.signal);
    try {
      await task();
    } finally {
      stop.abort();
      await written;
    }
    assert.ok((workload.counts['done'] ?? 0) > 20, JSON.stringify(workload.counts));
  }
});

/** Kills the syncer within a time, and starts it again. */
async function killed(
  syncer: SyncerProcess,
  chance: SeededRandom,
  withinMs: number,
): Promise<void> {
  await sleep(chance.below(withinMs), never);
  await syncer.kill();
  await syncer.restart();
}
