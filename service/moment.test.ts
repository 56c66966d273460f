import assert from 'node:assert/strict';
import { millisecondsBetween, momentNow, monotonicMs } from './moment.ts';

describe('a moment', () => {
  const systemClock = Date.now;
  afterEach(() => {
    Date.now = systemClock;
  });

  it('is that of two clocks: of the process, and of the system', () => {
    Date.now = () => 4_711;
    const before = performance.now();
    const moment = momentNow();
    const after = performance.now();
    assert.equal(moment[1], 4_711);
    assert.ok(before <= monotonicMs(moment) && monotonicMs(moment) <= after);
  });

  for (const [what, later, expected] of [
    ['of the system, while the machine slept', [1_100, 5_020_000], 20_000],
    ['of the process, while the other was set back', [8_000, 4_000_000], 7_000],
  ] as const)
    it(`is as long after another as the clock says that counts more: ${what}`, () => {
      assert.equal(millisecondsBetween([1_000, 5_000_000], later), expected);
    });

  it('is 20 s after another if only the clock of the system has moved so far', () => {
    Date.now = () => 5_000_000;
    const earlier = momentNow();
    Date.now = () => 5_020_000;
    assert.equal(millisecondsBetween(earlier, momentNow()), 20_000);
  });
});
