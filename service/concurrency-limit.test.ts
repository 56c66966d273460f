import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ConcurrencyLimit, exactly, type ConcurrencyRange } from './concurrency-limit.ts';

/** A destination that works on `cores` batches at the same time, and answers after a round trip. */
interface Destination {
  readonly cores: number;
  readonly workMs: number;
  readonly roundTripMs: number;
}

/**
 * Batches sent for some time, as many at once as the limit says. Each waits for a core, first come, first served.
 * @returns the share of what the destination could do at most, over the last half of the time.
 */
function throughputOf(
  limit: ConcurrencyLimit,
  clock: { ms: number },
  { cores, workMs, roundTripMs }: Destination,
  totalMs: number,
  noise: () => number = () => 1,
): number {
  const freeAtMs = new Array<number>(cores).fill(clock.ms);
  const ends: number[] = [];
  const startMs = clock.ms;
  let finished = 0;
  while (clock.ms < startMs + totalMs) {
    while (ends.length < limit.current) {
      const core = freeAtMs.indexOf(Math.min(...freeAtMs));
      const begin = Math.max(freeAtMs[core] ?? 0, clock.ms + roundTripMs / 2);
      freeAtMs[core] = begin + workMs * noise();
      ends.push((freeAtMs[core] ?? 0) + roundTripMs / 2);
    }
    ends.sort((left, right) => left - right);
    clock.ms = Math.max(clock.ms, ends.shift() ?? 0);
    if (clock.ms > startMs + totalMs / 2) finished++;
    limit.completed(100);
  }
  return finished / ((totalMs / 2 / workMs) * cores);
}

const range: ConcurrencyRange = { min: 4, initial: 16, max: 64 };

describe('ConcurrencyLimit', () => {
  it('fills a far destination, and keeps no more under way than that takes', () => {
    const destination = fc.record({
      cores: fc.integer({ min: 1, max: 8 }),
      workMs: fc.integer({ min: 4, max: 100 }),
      roundTripMs: fc.integer({ min: 0, max: 100 }),
    });
    fc.assert(
      fc.property(destination, (given) => {
        const clock = { ms: 0 };
        const limit = new ConcurrencyLimit(range, () => clock.ms);
        const needed = (given.cores * (given.workMs + given.roundTripMs)) / given.workMs;
        fc.pre(needed <= range.max);
        const share = throughputOf(limit, clock, given, 60_000);
        assert.ok(share > 0.85, `${share} of what it could do, with ${limit.current} at a time`);
        assert.ok(limit.current <= Math.max(16, 5 * needed), `${limit.current} for ${needed}`);
      }),
      { numRuns: 40 },
    );
  });

  it('follows a destination that moves away and comes back', () => {
    const clock = { ms: 0 };
    const limit = new ConcurrencyLimit(range, () => clock.ms);
    const near = { cores: 2, workMs: 10, roundTripMs: 0 };
    assert.ok(throughputOf(limit, clock, near, 60_000) > 0.9);
    const before = limit.current;
    assert.ok(throughputOf(limit, clock, { ...near, roundTripMs: 200 }, 60_000) > 0.85);
    assert.ok(limit.current > 30, `${limit.current}`);
    assert.ok(throughputOf(limit, clock, near, 60_000) > 0.9);
    assert.ok(limit.current <= 3 * before, `${limit.current} after ${before}`);
  });

  it('keeps to a range of one', () => {
    const clock = { ms: 0 };
    const limit = new ConcurrencyLimit(exactly(7), () => clock.ms);
    throughputOf(limit, clock, { cores: 2, workMs: 10, roundTripMs: 100 }, 10_000);
    assert.equal(limit.current, 7);
  });

  it('does not rise while there is too little to do', () => {
    const clock = { ms: 0 };
    const limit = new ConcurrencyLimit(range, () => clock.ms);
    const before = limit.current;
    for (let n = 0; n < 10_000; n++) {
      clock.ms += 10;
      limit.completed(1 + (n % 100));
      if (n % before === 0) limit.hadRoom();
    }
    assert.equal(limit.current, before);
  });

  /** Batches of one interval, at the end of which it decides. */
  function measure(
    limit: ConcurrencyLimit,
    clock: { ms: number },
    rate: number,
    intervalMs = 400,
  ): void {
    const { current } = limit;
    for (let n = 0; n < 5 * current; n++) {
      const ms = intervalMs / (4 * current);
      clock.ms += ms;
      limit.completed(rate * ms);
    }
  }

  it('keeps a lower limit if it costs next to nothing', () => {
    for (const [share, kept] of [
      [0.98, 10],
      [0.9, 16],
    ] as const) {
      const clock = { ms: 0 };
      const limit = new ConcurrencyLimit({ min: 2, initial: 16, max: 16 }, () => clock.ms);
      measure(limit, clock, 100);
      measure(limit, clock, 100);
      assert.equal(limit.current, 10);
      measure(limit, clock, 100 * share);
      assert.equal(limit.current, kept);
    }
  });

  it('goes by how much was moved, not by the number of batches', () => {
    for (const [rate, kept] of [
      [100, 16],
      [150, 36],
    ] as const) {
      const clock = { ms: 0 };
      const limit = new ConcurrencyLimit(range, () => clock.ms);
      measure(limit, clock, 100);
      assert.equal(limit.current, 24);
      measure(limit, clock, rate);
      assert.equal(limit.current, kept);
    }
  });

  it('decides nothing from a moment', () => {
    const clock = { ms: 0 };
    const limit = new ConcurrencyLimit(range, () => clock.ms);
    measure(limit, clock, 100, 200);
    assert.equal(limit.current, 16);
  });

  it('gives a probe up when there is too little to do, and measures again', () => {
    const clock = { ms: 0 };
    const limit = new ConcurrencyLimit(range, () => clock.ms);
    measure(limit, clock, 100);
    assert.equal(limit.current, 24);
    limit.hadRoom();
    assert.equal(limit.current, 16);
    for (let n = 0; n < 5 * 16 - 1; n++) {
      clock.ms += 10;
      limit.completed(100);
    }
    limit.hadRoom();
    limit.completed(100);
    assert.equal(limit.current, 16);
  });
});
