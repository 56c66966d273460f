import assert from 'node:assert/strict';
import { systemClock } from '../kube/clock.ts';
import { WritePace } from './write-pace.ts';

/** How many writes a second there are when the figures of so many objects move all the time. */
function writesPerSecond(objects: number): { readonly rate: number; readonly shortestMs: number } {
  let nowMs = 0;
  const pace = new WritePace({ ...systemClock, monotonicMs: () => nowMs });
  const written = new Map<string, number>();
  let writes = 0;
  let shortestMs = Number.POSITIVE_INFINITY;
  const [fromMs, toMs] = [300_000, 600_000];
  for (; nowMs < toMs; nowMs += 1_000) {
    for (let index = 0; index < objects; index++) {
      const key = String(index);
      const before = written.get(key);
      if (pace.waitMs(key, before) > 0) continue;
      shortestMs = Math.min(shortestMs, nowMs - (before ?? 0));
      written.set(key, nowMs);
      if (nowMs >= fromMs) writes += 1;
    }
  }
  return { rate: writes / ((toMs - fromMs) / 1_000), shortestMs };
}

describe('WritePace', () => {
  it('lets one object write every two seconds', () => {
    assert.deepEqual(writesPerSecond(1), { rate: 0.5, shortestMs: 2_000 });
  });

  for (const objects of [10, 100, 400]) {
    it(`lets ${objects} objects write less than once a second for each hundred`, () => {
      const { rate, shortestMs } = writesPerSecond(objects);
      const allowed = Math.max(1, objects / 100);
      assert.ok(rate < allowed && rate > allowed * 0.7, String(rate));
      assert.ok(shortestMs >= 2_000);
    });
  }

  it('leaves the share of objects that have come to rest to the others', () => {
    let nowMs = 0;
    const pace = new WritePace({ ...systemClock, monotonicMs: () => nowMs });
    for (let index = 0; index < 200; index++) pace.waitMs(String(index), nowMs);
    nowMs = 149_000;
    assert.ok(pace.waitMs('0', nowMs) > 50_000);
    nowMs = 151_000;
    assert.equal(pace.waitMs('0', nowMs), 2_000);
  });
});
