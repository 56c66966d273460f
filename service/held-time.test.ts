import assert from 'node:assert/strict';
import { HeldTime } from './held-time.ts';

describe('HeldTime', () => {
  it('counts the time in which anybody is held back, once', () => {
    let ms = 500;
    const held = new HeldTime(() => ms);
    const first = held.hold();
    ms += 10_000;
    const second = held.hold();
    ms += 10_000;
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    ms += 10_000;
    assert.equal(held.isHeld, true);
    assert.equal(held.totalMs, 30_000);
    second[Symbol.dispose]();
    assert.equal(held.isHeld, false);
    ms += 15_000;
    assert.equal(held.totalMs, 30_000);
    assert.equal(held.shareOfLastMinute, 0.5);
  });

  it('forgets the share after a minute, and never the total', () => {
    let ms = 0;
    const held = new HeldTime(() => ms);
    const hold = held.hold();
    ms = 3_600_000;
    assert.equal(held.totalMs, 3_600_000);
    assert.equal(held.shareOfLastMinute, 1);
    hold[Symbol.dispose]();
    ms += 61_000;
    assert.equal(held.shareOfLastMinute, 0);
    assert.equal(held.totalMs, 3_600_000);
  });
});
