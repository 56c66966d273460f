import assert from 'node:assert/strict';
import fc from 'fast-check';
import { setImmediate } from 'node:timers/promises';
import { forEachConcurrently } from './concurrency.ts';

describe('forEachConcurrently', () => {
  it('runs every item once, never more than the limit at a time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(3)),
        fc.integer({ min: 1, max: 5 }),
        async (delays, limit) => {
          const seen: number[] = [];
          let running = 0;
          await forEachConcurrently(delays.entries(), limit, async ([index, turns]) => {
            running += 1;
            assert.ok(running <= limit);
            for (let turn = 0; turn < turns; turn++) await setImmediate();
            running -= 1;
            seen.push(index);
          });
          assert.deepEqual(
            seen.sort((a, b) => a - b),
            [...delays.keys()],
          );
        },
      ),
      { numRuns: 30 },
    );
  });

  it('throws the first error, after those under way have ended, and begins no more', async () => {
    const ended: number[] = [];
    const run = async (item: number): Promise<void> => {
      await setImmediate();
      if (item === 1) throw new Error('one');
      await setImmediate();
      ended.push(item);
    };
    await assert.rejects(forEachConcurrently([0, 1, 2, 3, 4], 2, run), /one/);
    assert.deepEqual(ended, [0]);
  });
});
