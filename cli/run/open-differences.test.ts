import assert from 'node:assert/strict';
import { verificationFrom } from '../api/testing/reported.ts';
import { OpenDifferences } from './open-differences.ts';

describe('OpenDifferences', () => {
  const reported = (generation: number, unresolvedMismatchCount: number | null) =>
    verificationFrom({ phase: 'recheck', generation, unresolvedMismatchCount });

  /** What it says after each of these: a pass, how many differences are open, and when. */
  function said(...moments: readonly (readonly [number, number | null, number, boolean?])[]) {
    const open = new OpenDifferences(2);
    return moments.map(([generation, count, nowMs, isLagSmall = true]) =>
      open.remain(reported(generation, count), isLagSmall, nowMs),
    );
  }

  it('remain after five passes and four times the lag', () => {
    assert.deepEqual(said([1, 1, 0], [6, 1, 7_999], [6, 1, 8_000]), [false, false, true]);
    assert.deepEqual(said([1, 1, 0], [5, 1, 60_000], [6, 3, 60_001]), [false, false, true]);
  });

  it('do not remain if there were none in between, or if nothing was known', () => {
    for (const none of [0, null])
      assert.deepEqual(said([1, 1, 0], [5, none, 5_000], [9, 1, 9_000]), [false, false, false]);
    assert.deepEqual(said([1, 1, 0], [5, 1, 5_000, false], [9, 1, 9_000]), [false, false, false]);
  });
});
