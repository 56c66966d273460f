import assert from 'node:assert/strict';
import { leftIndexWarnings, type LeftIndex } from './left-index-warnings.ts';

const left = (
  name: string,
  expectedSeconds: number | null,
  isBuiltByCommitAlone = false,
): LeftIndex => ({
  namespace: 'shop.items',
  name,
  reason: 'CannotIndexParallelArrays',
  expectedSeconds,
  isBuiltByCommitAlone,
});

describe('leftIndexWarnings', () => {
  it('tells of each index, why, and how long it is expected to take', () => {
    assert.deepEqual(leftIndexWarnings([left('two', 40), left('geo', null)]), [
      'index two of shop.items is left to the commit, unless it can be built earlier (CannotIndexParallelArrays): the build is expected to take 40 s',
      'index geo of shop.items is left to the commit, unless it can be built earlier (CannotIndexParallelArrays): the build time is unknown',
    ]);
    assert.deepEqual(leftIndexWarnings([left('capped', null, true)]), [
      'index capped of shop.items is left to the commit (CannotIndexParallelArrays): the build time is unknown',
    ]);
    assert.deepEqual(leftIndexWarnings([]), []);
  });

  it('counts those that are too many to be told of', () => {
    const many = Array.from({ length: 25 }, (_, n) => left(`i${n}`, null));
    const warnings = leftIndexWarnings(many);
    assert.equal(warnings.length, 21);
    assert.equal(warnings.at(-1), '5 more indexes are left to the commit');
  });
});
