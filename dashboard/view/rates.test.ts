import assert from 'node:assert/strict';
import type { HistoryPoint } from '../api/messages.ts';
import { ratesOf, steadyRate } from './rates.ts';

/** Points of a history: time, bytes copied, events applied. */
function history(
  ...points: readonly (readonly [number, number | null, number | null])[]
): HistoryPoint[] {
  return points.map(([at, copied, applied]) => [at, copied, 0, applied, null]);
}

describe('ratesOf', () => {
  it('is unknown at the first point, and covers the time since then', () => {
    const points = history([100, 0, 7], [101, 50, 7], [104, 80, 27]);
    assert.deepEqual(ratesOf(points, 'copied'), [
      [100, null],
      [101, 50],
      [104, 20],
    ]);
    assert.deepEqual(ratesOf(points, 'applied'), [
      [100, null],
      [101, 0],
      [104, 5],
    ]);
  });

  it('covers the last 15 seconds, or the time since the point before if that is longer', () => {
    const points = history([0, 0, 0], [10, 1_000, 0], [25, 1_150, 0], [500, 1_625, 0]);
    assert.deepEqual(
      ratesOf(points, 'copied').map(([, rate]) => rate),
      [null, 100, 10, 1],
    );
  });

  it('is unknown where a count is, or has restarted', () => {
    const points = history(
      [0, null, 0],
      [1, 10, 0],
      [2, 30, 0],
      [20, null, 0],
      [60, 20, 0],
      [80, 40, 0],
    );
    assert.deepEqual(
      ratesOf(points, 'copied').map(([, rate]) => rate),
      [null, null, 20, null, null, 1],
    );
  });

  it('is unknown between points of the same second, and where a clock was set back', () => {
    const points = history([100, 0, 0], [100, 50, 0], [90, 60, 0]);
    assert.deepEqual(
      ratesOf(points, 'copied').map(([, rate]) => rate),
      [null, null, null],
    );
  });

  it('has no points for an empty history', () => {
    assert.deepEqual(ratesOf([], 'copied'), []);
  });
});

describe('the steady rate of a copy', () => {
  it('is that of the last minutes, whatever the last seconds were', () => {
    const points = history(
      [0, 0, null],
      [60, 5_000, null],
      [180, 41_000, null],
      [181, 41_000, null],
    );
    assert.equal(steadyRate(points), (41_000 - 5_000) / 121);
  });

  it('is unknown in the first minutes, and where the copy restarted', () => {
    assert.equal(steadyRate(history([0, 0, null], [119, 5_000, null])), null);
    assert.equal(steadyRate(history([0, 9_000, null], [120, 5_000, null])), null);
    assert.equal(steadyRate(history([0, null, null], [120, 5_000, null])), null);
    assert.equal(steadyRate([]), null);
  });
});
