import assert from 'node:assert/strict';
import { messageOf } from '../../../service/errors.ts';
import { chosenSeeds, shareOfDay } from '../../ground/workload/chosen-seeds.ts';
import { SeededRandom } from '../../ground/workload/seeded-random.ts';
import { writeFaults, type PlannedFault, type PlannedWrites } from './planned-writes.ts';

/** Work that is done again and again, while one of its writes meets a fault. */
export interface WatchedWork extends AsyncDisposable {
  /** Does it once. Rejects unless it ends as it should. @returns what it has written, in short, and which of it has met the fault. */
  run(planned?: PlannedFault): Promise<Pick<PlannedWrites, 'order' | 'met'>>;
}

/** What is tried. */
interface EachWrite {
  /** Whose writes. */
  readonly of: string;
  readonly start: () => Promise<WatchedWork>;
  /** How many writes there are at least, and some of each of these commands. */
  readonly atLeast: number;
  readonly commands: readonly string[];
  /** How many writes meet each fault on a day. */
  readonly perDay: number;
}

/** Works side by side, each between servers of its own: each waits half of its time. */
const lanes = Number(process.env['LANES'] ?? 2);

/**
 * The invariant: whichever write fails once, and in whichever way, the work continues by itself, and ends as it should. `ALL_CASES=1`
 * tries all writes, which takes an hour; otherwise each day has others. `SEED=17` tries the 17th alone.
 */
export function describeEachWrite({ of, start, atLeast, commands, perDay }: EachWrite): void {
  describe(`each write of ${of}`, function () {
    this.timeout(7_200_000);
    let works: readonly WatchedWork[] = [];
    /** Of one that nothing disturbs. */
    let writes: readonly string[] = [];

    before(async () => {
      works = await Promise.all(Array.from({ length: lanes }, start));
      const [work] = works;
      assert.ok(work);
      writes = (await work.run()).order;
    });
    after(async () => {
      for (const work of works) await work[Symbol.asyncDispose]();
    });

    it('is known, and there are some of each command', () => {
      assert.ok(writes.length >= atLeast, `only ${writes.length} writes`);
      const there = new Set(writes.map((write) => write.split(' ')[0] ?? ''));
      for (const command of commands)
        assert.ok(there.has(command), `${command} is among ${[...there].join(', ')}`);
    });

    for (const [index, fault] of writeFaults.entries()) {
      it(`${fault}: it ends as it should`, async () => {
        const numbers = chosenNumbers(index);
        const failures: string[] = [];
        const met: string[] = [];
        await Promise.all(
          works.map(async (work) => {
            for (let n = numbers.shift(); n !== undefined; n = numbers.shift()) {
              try {
                const { met: write, order } = await work.run({ fault, n });
                if (write !== undefined) met.push(write);
                // How many there are depends a little on the time that the work takes: then the last one meets it.
                else if (order.length < n) numbers.push(order.length);
              } catch (error) {
                failures.push(`SEED=${n}, ${fault}: ${messageOf(error)}`);
              }
            }
          }),
        );
        assert.deepEqual(failures, []);
        assert.ok(met.length > 0, 'there were never so many writes');
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
}
