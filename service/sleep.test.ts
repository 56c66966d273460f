import assert from 'node:assert/strict';
import fc from 'fast-check';
import { backoffMs, sleep } from './sleep.ts';

describe('sleep', () => {
  it('rejects with the reason of an aborted signal, at once', async () => {
    const reason = new Error('stop');
    await assert.rejects(sleep(60_000, AbortSignal.abort(reason)), reason);
  });

  it('rejects with the reason when the signal is aborted while it waits', async () => {
    const controller = new AbortController();
    const waiting = sleep(60_000, controller.signal);
    const reason = new Error('stop');
    controller.abort(reason);
    await assert.rejects(waiting, reason);
  });

  it('waits for longer than a timer can', async () => {
    const controller = new AbortController();
    let isOver = false;
    const waiting = sleep(2 ** 40, controller.signal).then(() => (isOver = true));
    await sleep(20, new AbortController().signal);
    assert.equal(isOver, false);
    const reason = new Error('stop');
    controller.abort(reason);
    await assert.rejects(waiting, reason);
  });
});

describe('backoffMs', () => {
  it('grows, and is never above its limit nor below half of the step', () => {
    fc.assert(
      fc.property(fc.nat(100), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, chance) => {
        const ms = backoffMs(attempt, { baseMs: 10, maxMs: 1000, random: () => chance });
        const step = Math.min(1000, 10 * 2 ** attempt);
        assert.ok(ms >= step / 2 && ms <= step);
      }),
    );
  });

  it('allows ten attempts in the first minute, and five in each minute after that, unless told otherwise', () => {
    const attemptsWithin = (ms: number, first: number): number => {
      let attempt = first;
      for (let left = ms; left >= 0; attempt++) left -= backoffMs(attempt, { random: () => 1 });
      return attempt - first - 1;
    };
    assert.ok(attemptsWithin(60_000, 0) >= 10);
    for (const first of [10, 30, 1_000]) assert.ok(attemptsWithin(60_000, first) >= 5);
  });
});
