import assert from 'node:assert/strict';
import { HeldTime } from './held-time.ts';

describe('HeldTime', () => {
  let ms = 0;
  let held: HeldTime;
  beforeEach(() => {
    ms = 500;
    held = new HeldTime(() => ms);
  });

  /** Waits until the returned function is called. */
  function wait(): () => Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const waiting = held.during(async () => {
      await promise;
    });
    return async () => {
      resolve(undefined);
      await waiting;
    };
  }

  it('counts the time in which anybody is held back, once', async () => {
    const endFirst = wait();
    ms += 10_000;
    const endSecond = wait();
    ms += 10_000;
    await endFirst();
    ms += 10_000;
    assert.equal(held.isHeld, true);
    assert.equal(held.totalMs, 30_000);
    await endSecond();
    assert.equal(held.isHeld, false);
    ms += 15_000;
    assert.equal(held.totalMs, 30_000);
    assert.equal(held.shareOfLastMinute, 0.5);
  });

  it('ends with a wait that fails', async () => {
    const error = new Error('over');
    await assert.rejects(
      held.during(() => Promise.reject(error)),
      error,
    );
    assert.equal(held.isHeld, false);
  });

  it('forgets the share after a minute, and never the total', async () => {
    const end = wait();
    ms += 3_600_000;
    assert.equal(held.totalMs, 3_600_000);
    assert.equal(held.shareOfLastMinute, 1);
    await end();
    ms += 61_000;
    assert.equal(held.shareOfLastMinute, 0);
    assert.equal(held.totalMs, 3_600_000);
  });
});
