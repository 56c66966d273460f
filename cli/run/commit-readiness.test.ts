import assert from 'node:assert/strict';
import { verificationFrom } from '../api/testing/reported.ts';
import { commitReadiness, differencesRemain } from './commit-readiness.ts';

describe('commitReadiness', () => {
  const sync = { canCommit: true, lagSeconds: 5 };
  const options = { verify: true, maxLagSeconds: 5 };
  const quiet = {
    mismatchCount: 0,
    longestSeconds: 0,
    isWhole: true,
    shortSeconds: 6,
    ageSeconds: 0,
  };
  const verified = (lastPass?: object | null, more: object = {}) => {
    return verificationFrom({ phase: 'recheck', lastPass, ...more });
  };
  const notOnce = 'the verification has not compared everything once';
  const differs =
    'the verification has found differences, and rechecks them; repair the sync if they remain';
  const cases = [
    [{ ...sync, canCommit: false }, verified(quiet), options, 'not every instance can commit'],
    [{ ...sync, lagSeconds: null }, verified(quiet), options, 'the lag is unknown'],
    [{ ...sync, lagSeconds: 6 }, verified(quiet), options, 'the lag is more than 5 s'],
    [sync, undefined, options, notOnce],
    [sync, verified(null), options, notOnce],
    [sync, verified(), options, notOnce],
    [sync, verified({ ...quiet, mismatchCount: 1, longestSeconds: 6 }), options, differs],
    [sync, verified({ ...quiet, mismatchCount: 1, shortSeconds: 5 }), options, differs],
    [
      sync,
      verified(quiet, { asOf: '2026-01-01T00:00:00.000Z' }),
      options,
      'the progress of the verification is out of date',
    ],
  ] as const;
  for (const [given, verification, asked, message] of cases) {
    it(`is not there while ${message}: ${JSON.stringify(verification?.reported.lastPass)}`, () => {
      assert.deepEqual(commitReadiness(given, verification, asked), { isReady: false, message });
    });
  }

  it('is there once no difference is older than the lag, or where nothing is to be compared', () => {
    for (const lastPass of [quiet, { ...quiet, mismatchCount: 3, longestSeconds: 5 }])
      assert.deepEqual(commitReadiness(sync, verified(lastPass), options), {
        isReady: true,
        message: 'every instance can commit, and no difference remains',
      });
    assert.deepEqual(commitReadiness(sync, undefined, { ...options, verify: false }), {
      isReady: true,
      message: 'every instance can commit, and nothing is compared',
    });
  });

  it('tells differences that remain from those that the lag explains', () => {
    const after = (longestSeconds: number) =>
      differencesRemain(verified({ ...quiet, mismatchCount: 1, longestSeconds }), options);
    assert.deepEqual([20, 21].map(after), [false, true]);
    assert.equal(differencesRemain(verified(null), options), false);
  });
});
