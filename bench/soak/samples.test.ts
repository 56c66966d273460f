import assert from 'node:assert/strict';
import { growthOf, type Sample } from './samples.ts';

function samples(change: (index: number) => Partial<Sample>): Sample[] {
  const steady = { residentMebibytes: 200, heapMebibytes: 80, openFiles: 40, watches: 30 };
  return Array.from({ length: 40 }, (_, index) => ({ ...steady, ...change(index) }));
}

describe('growthOf', () => {
  it('reports nothing that fills at first and then goes up and down', () => {
    const found = growthOf(
      samples((index) => ({ residentMebibytes: 150 + Math.min(index, 9) * 8 + (index % 3) * 30 })),
    );
    assert.deepEqual(found, []);
  });

  it('reports what keeps growing', () => {
    const found = growthOf(
      samples((index) => ({ heapMebibytes: 80 + 2 * index, watches: 30 + index })),
    );
    assert.deepEqual(found, ['heapMebibytes grew from 100 to 140', 'watches grew from 40 to 60']);
  });
});
