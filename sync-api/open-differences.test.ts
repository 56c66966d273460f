import assert from 'node:assert/strict';
import { openDifferences } from './open-differences.ts';
import { readVerification } from './verifier-answers.ts';

const quiet = {
  generation: 1,
  mismatchCount: 0,
  longestSeconds: 0,
  isWhole: true,
  shortSeconds: 11,
  ageSeconds: 0,
};

describe('openDifferences', () => {
  const cases = [
    ['unknown before a pass has ended', null, 0, 'unknown'],
    ['nothing of a tool that does not report it', undefined, 0, undefined],
    ['none after a pass that has found none', quiet, 0, 'none'],
    ['none, however long ago that was', { ...quiet, ageSeconds: 9_000 }, 0, 'none'],
    ['recent, where the pass under way has found some', quiet, 1, 'recent'],
    ['old, where that pass has been under way for long', { ...quiet, ageSeconds: 91 }, 1, 'old'],
    ['recent, where that is not so long', { ...quiet, ageSeconds: 90 }, 1, 'recent'],
    [
      'recent, where all are as old as the lag',
      { ...quiet, mismatchCount: 2, longestSeconds: 10 },
      0,
      'recent',
    ],
    [
      'old, where a long pass has just ended',
      { ...quiet, mismatchCount: 2, shortSeconds: 10 },
      0,
      'old',
    ],
    ['old, where one is older', { ...quiet, mismatchCount: 2, longestSeconds: 11 }, 0, 'old'],
    ['old, where not everything was compared', { ...quiet, isWhole: false }, 0, 'old'],
    ['nothing of half an answer', { ...quiet, isWhole: undefined }, 0, undefined],
    ['nothing of a number below zero', { ...quiet, mismatchCount: -1 }, 0, undefined],
  ] as const;
  for (const [what, lastPass, failedTasks, expected] of cases) {
    it(`tells ${what}`, () => {
      const progress = { phase: 'recheck', lastPass, verificationStatus: { failedTasks } };
      const reported = readVerification(progress);
      assert.ok(reported);
      assert.equal(openDifferences(reported, 10), expected);
    });
  }

  it('counts differences of metadata, too', () => {
    const verificationStatus = { failedTasks: 0, metadataMismatchTasks: 1 };
    const reported = readVerification({ phase: 'recheck', lastPass: quiet, verificationStatus });
    assert.equal(reported && openDifferences(reported, 10), 'recent');
  });
});
