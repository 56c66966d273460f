import assert from 'node:assert/strict';
import { growthOf, type Sample } from './samples.ts';

function samples(change: (index: number) => Partial<Sample>): Sample[] {
  const steady = { residentMebibytes: 200, heapMebibytes: 80, openFiles: 40, watches: 30 };
  return Array.from({ length: 40 }, (_, index) => ({ ...steady, ...change(index) }));
}

describe('growthOf', () => {
  it('finds nothing in what fills at first, goes up and down, and stays', () => {
    const found = growthOf(
      samples((index) => ({ residentMebibytes: 150 + Math.min(index, 9) * 8 + (index % 3) * 30 })),
    );
    assert.deepEqual(found, []);
  });

  it('finds what grows', () => {
    const found = growthOf(
      samples((index) => ({ heapMebibytes: 80 + 2 * index, watches: 30 + index })),
    );
    assert.deepEqual(found, ['heapMebibytes grew from 100 to 140', 'watches grew from 40 to 60']);
  });
});
