import assert from 'node:assert/strict';
import type { WriteResult } from '../operand/status-writer.ts';
import { delayAfter } from './requeue-delay.ts';

describe('delayAfter', () => {
  const written: WriteResult = { kind: 'written' };
  const deferred = (forMs: number): WriteResult => ({ kind: 'deferred', forMs });
  const cases: readonly (readonly [number, boolean, WriteResult | undefined, number])[] = [
    [60_000, false, written, 60_000],
    [60_000, false, undefined, 60_000],
    [60_000, true, written, 1_000],
    [60_000, true, undefined, 1_000],
    [500, true, { kind: 'unchanged' }, 500],
    [0, false, written, 0],
    [0, false, deferred(700), 700],
    [60_000, false, deferred(2_000), 2_000],
    [500, false, deferred(2_000), 500],
    [10, false, deferred(2_000), 100],
    [60_000, false, deferred(20), 100],
    [60_000, true, deferred(5_000), 1_000],
  ];
  for (const [requeueAfterMs, isLeft, result, expected] of cases) {
    const what = `${requeueAfterMs} ms, ${isLeft ? 'left' : 'nothing left'}, ${JSON.stringify(result)}`;
    it(`is ${expected} ms after ${what}`, () => {
      assert.equal(delayAfter(requeueAfterMs, isLeft, result), expected);
    });
  }
});
