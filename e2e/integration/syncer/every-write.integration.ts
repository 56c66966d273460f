import assert from 'node:assert/strict';
import { messageOf } from '../../../service/errors.ts';
import { chosenSeeds, shareOfDay } from '../../ground/workload/chosen-seeds.ts';
import { SeededRandom } from '../../ground/workload/seeded-random.ts';
import { startWatchedPair, type WatchedPair } from './watched-pair.ts';
import { writeFaults } from './write-faults.ts';

/** Syncs side by side, each between a pair of its own: each waits half of its time. */
const lanes = Number(process.env['LANES'] ?? 2);

/** How many writes meet each fault on a day. */
const perDay = 2;

/**
 * The invariant: whichever write of a sync fails once, and in whichever way, the sync continues by itself, and ends with both sides
 * equal. `ALL_CASES=1` tries all writes, which takes an hour; otherwise each day has others. `SEED=17` tries the 17th alone.
 */
describe('each write of a sync', function () {
  this.timeout(7_200_000);
  let pairs: readonly WatchedPair[] = [];
  /** Of a sync that nothing disturbs. */
  let writes: readonly string[] = [];

  before(async () => {
    pairs = await Promise.all(Array.from({ length: lanes }, startWatchedPair));
    const [pair] = pairs;
    assert.ok(pair);
    writes = (await pair.sync()).order;
  });
  after(async () => {
    for (const pair of pairs) await pair[Symbol.asyncDispose]();
  });

  it('is known, and there are some of each command', () => {
    assert.ok(writes.length > 100, `only ${writes.length} writes`);
    const commands = new Set(writes.map((write) => write.split(' ')[0] ?? ''));
    for (const command of [
      ...['insert', 'update', 'delete', 'findAndModify', 'create', 'createIndexes', 'drop'],
      ...['dropIndexes', 'collMod', 'renameCollection', 'setUserWriteBlockMode', 'appendOplogNote'],
    ])
      assert.ok(commands.has(command), `${command} is among ${[...commands].join(', ')}`);
  });

  for (const [index, fault] of writeFaults.entries()) {
    it(`${fault}: the sync ends with both sides equal`, async () => {
      const numbers = chosenNumbers(index);
      const failures: string[] = [];
      const met: string[] = [];
      await Promise.all(
        pairs.map(async (pair) => {
          for (let n = numbers.shift(); n !== undefined; n = numbers.shift()) {
            try {
              const write = (await pair.sync({ fault, n })).met;
              if (write !== undefined) met.push(write);
            } catch (error) {
              failures.push(`SEED=${n}, ${fault}: ${messageOf(error)}`);
            }
          }
        }),
      );
      assert.deepEqual(failures, []);
      // How many writes there are depends a little on the time that a sync takes.
      assert.ok(met.length > 0, 'no sync had so many writes');
    });
  }

  /** Which writes meet a fault, from 1 on. */
  function chosenNumbers(faultIndex: number): number[] {
    const asked = chosenSeeds([]);
    if (asked.length > 0) return [...asked];
    const chance = new SeededRandom(faultIndex);
    const shuffled = writes
      .map((_, index) => ({ n: index + 1, place: chance.next() }))
      .sort((a, b) => a.place - b.place);
    return shareOfDay(shuffled, perDay).map(({ n }) => n);
  }
});
