import assert from 'node:assert/strict';
import type { ReportedCollection } from '../../sync-api/syncer-answers.ts';
import { foldCollections } from './fold.ts';

describe('foldCollections', () => {
  const one = (namespace: string, totalBytes: number, copiedBytes = 0): ReportedCollection => ({
    namespace,
    totalBytes,
    copiedBytes,
    isCopied: copiedBytes > totalBytes,
  });
  const list = {
    collections: [one('a', 10, 5), one('b', 99), one('c', 50, 1), one('d', 1), one('e', 5, 6)],
    total: 20,
    copied: 8,
  };
  const cases: readonly (readonly [number, string, object])[] = [
    [10, 'c a b d', { underWay: 0, waiting: 8, copied: 8 }],
    [3, 'c a b', { underWay: 0, waiting: 9, copied: 8 }],
    [1, 'c', { underWay: 1, waiting: 10, copied: 8 }],
    [0, '', { underWay: 2, waiting: 10, copied: 8 }],
    [-3, '', { underWay: 2, waiting: 10, copied: 8 }],
  ];
  for (const [lines, names, others] of cases) {
    it(`shows "${names}" in ${lines} lines`, () => {
      const folded = foldCollections(list, lines);
      assert.equal(folded.shown.map(({ namespace }) => namespace).join(' '), names);
      assert.deepEqual(folded.others, others);
    });
  }

  it('has nothing to show of nothing', () => {
    assert.deepEqual(foldCollections({ collections: [], total: 0, copied: 0 }, 5), {
      shown: [],
      others: { underWay: 0, waiting: 0, copied: 0 },
    });
  });
});
