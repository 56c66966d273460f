import assert from 'node:assert/strict';
import { verificationFrom } from '../api/testing/reported.ts';
import { commitReadiness, RemainingDifferences } from './commit-readiness.ts';

describe('commitReadiness', () => {
  const sync = { canCommit: true, lagSeconds: 5 };
  const options = { verify: true, maxLagSeconds: 5 };
  const quiet = {
    generation: 1,
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
    'the verification has found differences, and rechecks them; if they remain, list them (clustersync verifier report), repair the sync, or run again with --no-verify';
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

  describe('RemainingDifferences', () => {
    const at = (generation: number, longestSeconds: number) =>
      verified(
        { ...quiet, generation: generation - 1, mismatchCount: 1, longestSeconds },
        { generation },
      );

    it('tells those that remain from those that the lag explains', () => {
      const remaining = new RemainingDifferences(options);
      const told = [
        remaining.remain(sync, at(2, 90), 0),
        remaining.remain(sync, at(4, 20), 20_000),
        remaining.remain(sync, at(4, 21), 19_999),
        remaining.remain(sync, at(4, 21), 20_000),
      ];
      assert.deepEqual(told, [false, false, false, true]);
    });

    it('knows nothing while the destination lags, nor of passes before it began', () => {
      const remaining = new RemainingDifferences(options);
      const lagging = { ...sync, lagSeconds: 6 };
      assert.equal(remaining.remain(lagging, at(2, 90), 0), false);
      assert.equal(remaining.remain(sync, at(4, 90), 60_000), false);
      // The same pass as before, and then another one.
      assert.equal(remaining.remain(sync, at(4, 90), 90_000), false);
      assert.equal(remaining.remain(sync, at(6, 90), 90_000), true);
      assert.equal(remaining.remain(sync, verified(null), 90_001), false);
      assert.equal(remaining.remain(sync, at(7, 90), 90_002), false);
    });

    it('waits for ten seconds where no lag is allowed', () => {
      const remaining = new RemainingDifferences({ ...options, maxLagSeconds: 0 });
      const current = { ...sync, lagSeconds: 0 };
      assert.equal(remaining.remain(current, at(2, 11), 0), false);
      assert.equal(remaining.remain(current, at(4, 11), 9_999), false);
      assert.equal(remaining.remain(current, at(4, 11), 10_000), true);
    });
  });
});
