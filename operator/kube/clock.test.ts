import assert from 'node:assert/strict';
import { sleepOn, systemClock } from './clock.ts';
import { FakeClock } from './testing/fake-clock.ts';

describe('sleepOn', () => {
  it('waits on the clock and leaves no timer behind', async () => {
    const clock = new FakeClock();
    let isDone = false;
    const sleeping = sleepOn(clock, 100, new AbortController().signal).then(() => (isDone = true));
    await clock.advance(99);
    assert.equal(isDone, false);
    await clock.advance(1);
    await sleeping;
    assert.equal(clock.pendingTimers, 0);
  });

  it('rejects with the reason of the abort, and leaves no timer behind', async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    const sleeping = sleepOn(clock, 100, abort.signal);
    const reason = new Error('stop');
    abort.abort(reason);
    await assert.rejects(sleeping, reason);
    await assert.rejects(sleepOn(clock, 100, abort.signal), reason);
    assert.equal(clock.pendingTimers, 0);
  });
});

describe('systemClock', () => {
  it('calls back, unless cancelled, also after more time than a timer takes', async () => {
    let called = 0;
    systemClock.schedule(2 ** 40, () => (called += 1))();
    systemClock.schedule(0, () => (called += 10))();
    await new Promise<void>((resolve) => {
      systemClock.schedule(1, resolve);
    });
    assert.equal(called, 0);
  });
});
