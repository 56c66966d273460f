import assert from 'node:assert/strict';
import type { PassResult } from '../store/records.ts';
import { formerOf, unresolvedMismatches } from './unresolved.ts';

const found = { mismatches: 5, lasting: 0, failed: 1, isOverflowing: false };
const nothing = { ...found, mismatches: 0, failed: 0 };

function result(mismatches: number, generation = 3): PassResult {
  return { generation, mismatches, unresolved: mismatches };
}

describe('unresolvedMismatches', () => {
  const cases = [
    ['none, where nothing was found', nothing, result(4), 0],
    ['all of the first pass', found, undefined, 5],
    ['all, where the pass before had found none', found, result(0), 5],
    ['none, where those of the pass before are gone or have changed', found, result(4), 0],
    ['all, where one has lasted', { ...found, lasting: 1 }, result(4), 5],
    ['all, where not all are stored', { ...found, isOverflowing: true }, result(4), 5],
    ['what tasks tell, where none is stored', { ...nothing, failed: 2 }, undefined, 2],
  ] as const;
  for (const [what, given, former, expected] of cases) {
    it(`are ${what}`, () => {
      assert.equal(unresolvedMismatches(given, former), expected);
    });
  }
});

describe('formerOf', () => {
  it('is the result of the pass before, and of no other', () => {
    const of = (last: PassResult | null) => formerOf({ number: 4 }, last);
    assert.deepEqual(of(result(2)), result(2));
    for (const other of [null, result(2, 2), result(2, 4)]) assert.equal(of(other), undefined);
  });
});
