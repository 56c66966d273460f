import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { Deadline } from './deadline.ts';
import { FakeClock } from './testing/fake-clock.ts';

describe('Deadline', () => {
  it('is aborted after its time', async () => {
    const clock = new FakeClock();
    using deadline = new Deadline(new AbortController().signal, 100, clock);
    await clock.advance(99);
    assert.equal(deadline.signal.aborted, false);
    await clock.advance(1);
    assert.ok(deadline.isExpired && deadline.signal.aborted);
    assert.match(String(deadline.signal.reason), /no answer within 100 ms/);
  });

  it('restarts when it is rearmed', async () => {
    const clock = new FakeClock();
    using deadline = new Deadline(new AbortController().signal, 100, clock);
    await clock.advance(99);
    deadline.rearm(50);
    await clock.advance(49);
    assert.equal(deadline.isExpired, false);
    await clock.advance(1);
    assert.equal(deadline.isExpired, true);
  });

  it('is aborted with its parent, for the same reason', () => {
    const parent = new AbortController();
    using deadline = new Deadline(parent.signal, 100, new FakeClock());
    parent.abort('enough');
    assert.equal(deadline.signal.reason, 'enough');
    assert.equal(deadline.isExpired, false);
    using late = new Deadline(parent.signal, 100, new FakeClock());
    assert.equal(late.signal.reason, 'enough');
  });

  it('leaves neither a timer nor a listener behind', () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    {
      using deadline = new Deadline(parent.signal, 100, clock);
      deadline.rearm(200);
      assert.equal(clock.pendingTimers, 1);
    }
    assert.equal(clock.pendingTimers, 0);
    assert.equal(getEventListeners(parent.signal, 'abort').length, 0);
  });
});
