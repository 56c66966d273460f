import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { runTasks } from './task-pool.ts';

describe('runTasks', () => {
  it('runs all, also those that are added, and never more than the limit at a time', async () => {
    const done: number[] = [];
    let running = 0;
    let most = 0;
    await runTasks([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }], 2, async ({ n }, add) => {
      most = Math.max(most, ++running);
      await turn();
      if (n === 1) add([{ n: 10 }, { n: 11 }]);
      done.push(n);
      running -= 1;
    });
    assert.equal(most, 2);
    assert.deepEqual(
      done.sort((a, b) => a - b),
      [1, 2, 3, 4, 10, 11],
    );
  });

  it('begins no more after an error, and throws it when the others have ended', async () => {
    const done: number[] = [];
    const failing = runTasks([{ n: 1 }, { n: 2 }, { n: 3 }], 2, async ({ n }) => {
      if (n === 1) throw new Error('broken');
      await turn();
      done.push(n);
    });
    await assert.rejects(failing, /broken/);
    assert.deepEqual(done, [2]);
  });

  it('ends at once without tasks', async () => {
    await runTasks([], 4, async () => {
      await turn();
    });
  });
});
