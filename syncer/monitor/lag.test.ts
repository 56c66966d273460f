import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Phase, SyncView } from '../store/records.ts';
import { CatchUpEstimator, catchUpOf, type CatchUpSample, lagOf } from './lag.ts';

const cases: [SyncView['state'], Phase, lag: number | null, catchUp: number | null][] = [
  ['RUNNING', 'copy', 5, null],
  ['RUNNING', 'changes', 5, 9],
  ['RUNNING', 'handover', null, null],
  ['RUNNING', 'preparing', 5, null],
  ['PAUSED', 'changes', null, null],
  ['COMMITTING', 'changes', 5, 9],
  ['COMMITTING', 'restoring', 0, null],
  ['COMMITTED', 'done', 0, null],
];

describe('what is told of the lag', () => {
  for (const [state, phase, lag, catchUp] of cases) {
    it(`${state}, ${phase}: ${String(lag)}, gone in ${String(catchUp)}`, () => {
      assert.equal(lagOf({ state, phase }, { lagSeconds: 5 }), lag);
      assert.equal(catchUpOf({ state, phase }, true, { catchUpSeconds: 9 }), catchUp);
      assert.equal(catchUpOf({ state, phase }, false, { catchUpSeconds: 9 }), null);
    });
  }

  it('is nothing where it is not known: 0 means that both sides are consistent', () => {
    const places = [
      { state: 'RUNNING', phase: 'catalog' },
      { state: 'RUNNING', phase: 'changes' },
      { state: 'COMMITTING', phase: 'changes' },
    ] as const;
    for (const place of places) assert.equal(lagOf(place, { lagSeconds: null }), null);
  });
});

let nowMs = 0;

function add(estimator: CatchUpEstimator, sample: CatchUpSample): void {
  nowMs = sample.atMs;
  estimator.add(sample);
}

/** Samples every second of a source and a sync with steady rates. */
function sampled(
  seconds: number,
  { backlog, written, applied }: { backlog: number; written: number; applied: number },
): CatchUpEstimator {
  const estimator = new CatchUpEstimator(() => nowMs);
  for (let second = 0; second <= seconds; second++)
    add(estimator, {
      atMs: second * 1000,
      written: backlog + written * second,
      applied: applied * second,
    });
  return estimator;
}

describe('CatchUpEstimator', () => {
  it('is right at steady rates', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: 60 }),
        fc.integer({ min: 0, max: 1_000 }),
        fc.integer({ min: 1, max: 1_000 }),
        fc.integer({ min: 1, max: 10_000 }),
        (seconds, written, gained, rest) => {
          const applied = written + gained;
          const backlog = gained * seconds + rest;
          const estimate = sampled(seconds, { backlog, written, applied }).seconds;
          assert.equal(estimate, Math.ceil(rest / gained));
        },
      ),
    );
  });

  it('is not known before there is something to go by', () => {
    assert.equal(new CatchUpEstimator().seconds, null);
    assert.equal(sampled(2, { backlog: 100, written: 0, applied: 10 }).seconds, null);
  });

  it('is null while the sync comes no nearer', () => {
    assert.equal(sampled(10, { backlog: 100, written: 10, applied: 10 }).seconds, null);
    assert.equal(sampled(10, { backlog: 100, written: 20, applied: 10 }).seconds, null);
    assert.equal(sampled(10, { backlog: 100, written: 0, applied: 0 }).seconds, null);
  });

  it('is null when it would take longer than a year', () => {
    assert.equal(sampled(10, { backlog: 1e12, written: 0, applied: 1 }).seconds, null);
  });

  it('is 0 when all is applied, at once', () => {
    assert.equal(sampled(0, { backlog: 0, written: 0, applied: 0 }).seconds, 0);
  });

  it('goes by the last fifteen seconds', () => {
    const estimator = sampled(60, { backlog: 10_000, written: 0, applied: 100 });
    for (let second = 61; second <= 76; second++)
      add(estimator, { atMs: second * 1000, written: 10_000, applied: 6_000 + 10 * (second - 60) });
    assert.equal(estimator.seconds, (10_000 - 6_160) / 10);
  });

  it('is known soon after the source has written a lot at once', () => {
    const estimator = sampled(20, { backlog: 0, written: 10, applied: 10 });
    for (let second = 21; second <= 24; second++) {
      assert.equal(estimator.seconds, second <= 21 ? 0 : null);
      add(estimator, { atMs: second * 1000, written: 1_200, applied: 200 + 50 * (second - 20) });
    }
    assert.equal(estimator.seconds, 16);
  });

  it('starts over after a time without samples, and when one goes back', () => {
    const estimator = sampled(10, { backlog: 1_000, written: 0, applied: 10 });
    assert.notEqual(estimator.seconds, null);
    add(estimator, { atMs: 16_000, written: 5_000, applied: 110 });
    assert.equal(estimator.seconds, null);
    for (let second = 17; second <= 20; second++)
      add(estimator, { atMs: second * 1000, written: 5_000, applied: 110 + 10 * (second - 16) });
    assert.equal(estimator.seconds, 485);
    nowMs += 6_000;
    assert.equal(estimator.seconds, null, 'nothing was heard since');
    nowMs -= 6_000;
    add(estimator, { atMs: 21_000, written: 4_000, applied: 100 });
    assert.equal(estimator.seconds, null);
  });
});
