import assert from 'node:assert/strict';
import { collectionsText } from './collection-counts.ts';

describe('the counts of collections', () => {
  const cases: readonly (readonly [
    copied: number,
    isExact: boolean,
    unknownInstances: number,
    expected: string,
  ])[] = [
    [1200, true, 0, '1,200 of 1,300 copied'],
    [1300, true, 0, '1,300 of 1,300 copied'],
    [1200, false, 0, 'at least 1,200 of at least 1,300 copied'],
    [1300, false, 0, 'all copied, at least 1,300'],
    [0, false, 1, 'at least 0 of at least 1,300 copied; 1 instance lists none'],
    [1300, false, 2, 'all copied, at least 1,300; 2 instances list none'],
  ];
  for (const [copied, isExact, unknownInstances, expected] of cases)
    it(`are "${expected}"`, () => {
      const counts = { total: 1300, copied, isExact, unknownInstances };
      assert.equal(collectionsText(counts), expected);
    });

  it('are nothing while nothing is listed', () => {
    const nothing = { total: 0, copied: 0, isExact: false, unknownInstances: 1 };
    assert.equal(collectionsText(nothing), '');
  });
});
