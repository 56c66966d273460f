import assert from 'node:assert/strict';
import { heldBackText } from './held-back.ts';

describe('heldBackText', () => {
  it('says by what, and what it costs', () => {
    assert.equal(
      heldBackText({
        heldBackBy: ['maxCopyBytesPerSecond', 'maxChangesPerSecond'],
        secondsHeldBack: 120,
        shareOfLastMinute: 0.5,
      }),
      'held back by maxCopyBytesPerSecond and maxChangesPerSecond: 50 % of the last minute, 2 min in total',
    );
    assert.equal(
      heldBackText({ heldBackBy: [], secondsHeldBack: 3, shareOfLastMinute: 0 }),
      'not held back now; 0 % of the last minute, 3 s in total',
    );
  });
});
