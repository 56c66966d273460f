import { ChaosGround } from '../../chaos/run-chaos.ts';
import type { ScheduleLength } from '../../chaos/fault-schedule.ts';
import { chosenSeeds, firstSeeds } from '../../ground/workload/chosen-seeds.ts';

/** What seeds have shown, which has tests of its own since: they are kept. */
const shown: Readonly<Record<number, string>> = {
  6: 'an index build on a connection that had fallen silent alone',
  10: 'a change stream whose connection had fallen silent alone',
  13: 'a start on a connection that its server ended',
  24: 'a member that stepped down right after it had been found',
  25: 'a failure of the network while it was not known whose connections were',
};

/** `LENGTH=long` with faults of up to a minute. */
const length: ScheduleLength = process.env['LENGTH'] === 'long' ? 'long' : 'short';
/** They were met on the default servers. */
const kept = process.env['SERVERS'] === undefined ? Object.keys(shown).map(Number) : [];
const seeds = chosenSeeds(firstSeeds(12), { kept, perDay: 3 });

/** Runs wait more than they compute: so many go side by side, each on servers of its own. */
const lanes = Math.min(seeds.length, Number(process.env['LANES'] ?? 3));

describe('chaos: a sync of replica sets of three, with faults', function () {
  // More than its waits take together: these say what has not come.
  this.timeout(length === 'long' ? 1_800_000 : 900_000);
  const outcomes = new Map(seeds.map((seed) => [seed, Promise.withResolvers<undefined>()]));
  const grounds: ChaosGround[] = [];
  let finished: Promise<unknown> = Promise.resolve();
  let isOver = false;

  before(async () => {
    for (const { promise } of outcomes.values()) promise.catch(() => undefined);
    grounds.push(
      ...(await Promise.all(Array.from({ length: lanes }, async () => await ChaosGround.start()))),
    );
    const queue = [...outcomes].values();
    finished = Promise.all(
      grounds.map(async (ground) => {
        for (const [seed, { resolve, reject }] of queue) {
          if (isOver) return;
          await ground.run(seed, length).then(() => {
            resolve(undefined);
          }, reject);
        }
      }),
    );
  });

  after(async () => {
    isOver = true;
    await finished;
    for (const ground of grounds) await ground[Symbol.asyncDispose]();
  });

  for (const [seed, { promise }] of outcomes) {
    const met = shown[seed] === undefined ? '' : `, which met ${shown[seed]}`;
    it(`ends in equal clusters, seed ${seed}${met}`, async () => {
      await promise;
    });
  }
});
