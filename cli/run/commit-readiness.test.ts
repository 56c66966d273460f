import assert from 'node:assert/strict';
import { verificationFrom } from '../api/testing/reported.ts';
import { commitReadiness } from './commit-readiness.ts';

describe('commitReadiness', () => {
  const sync = { canCommit: true, lagSeconds: 5 };
  const options = { verify: true, maxLagSeconds: 5 };
  const verified = (unresolvedMismatchCount?: number | null, more: object = {}) => {
    return verificationFrom({ phase: 'recheck', unresolvedMismatchCount, ...more });
  };
  const notOnce = 'the verification has not compared everything once';
  const cases = [
    [{ ...sync, canCommit: false }, verified(0), options, 'not every instance can commit'],
    [{ ...sync, lagSeconds: null }, verified(0), options, 'the lag is unknown'],
    [{ ...sync, lagSeconds: 6 }, verified(0), options, 'the lag is more than 5 s'],
    [sync, undefined, options, notOnce],
    [sync, verified(null), options, notOnce],
    [sync, verified(), options, notOnce],
    [sync, verified(1), options, 'the verification has found 1 difference, and rechecks them'],
    [
      sync,
      verified(0, { asOf: '2026-01-01T00:00:00.000Z' }),
      options,
      'the progress of the verification is out of date',
    ],
  ] as const;
  for (const [given, verification, asked, message] of cases) {
    it(`is not there while ${message}: ${JSON.stringify(given)}`, () => {
      assert.deepEqual(commitReadiness(given, verification, asked), { isReady: false, message });
    });
  }

  it('is there once a pass has left nothing open, or where nothing is to be compared', () => {
    const known = 'every instance can commit, and the verification knows of no difference';
    assert.deepEqual(commitReadiness(sync, verified(0), options), {
      isReady: true,
      message: known,
    });
    assert.deepEqual(commitReadiness(sync, undefined, { ...options, verify: false }), {
      isReady: true,
      message: 'every instance can commit, and nothing is compared',
    });
  });
});
