import assert from 'node:assert/strict';
import fc from 'fast-check';
import { canPartition, partitionCount, splitPoints } from './split-points.ts';

describe('splitPoints', () => {
  it('gives rising points inside the sample, fewer than ranges', () => {
    fc.assert(
      fc.property(fc.nat(200), fc.integer({ min: 1, max: 50 }), (size, count) => {
        const points = splitPoints([...Array(size).keys()], count);
        assert.ok(points.length < count || points.length === 0);
        points.forEach((point, index) => {
          assert.ok(point >= 0 && point < size);
          assert.ok(index === 0 || point > (points[index - 1] ?? -1));
        });
      }),
    );
  });

  it('splits evenly', () => {
    assert.deepEqual(splitPoints([0, 1, 2, 3, 4, 5, 6, 7], 4), [2, 4, 6]);
    assert.deepEqual(splitPoints([], 4), []);
  });
});

describe('partitionCount', () => {
  it('is at least one and bounded', () => {
    const settings = { partitionMebibytes: 64, instances: 2 };
    const bytes = 64 * 1024 * 1024;
    const countOf = (sizeBytes: number, given = settings): number =>
      partitionCount({ sizeBytes, documentCount: 1e9, isAdopted: false }, given);
    assert.equal(countOf(0), 1);
    assert.equal(countOf(bytes), 1);
    assert.equal(countOf(bytes + 1), 2);
    assert.equal(countOf(1e15), 512);
    assert.equal(countOf(1e15, { ...settings, instances: 1_000 }), 4_000);
  });

  it('depends on the number of documents, too, if their hashes are held', () => {
    const settings = { partitionMebibytes: 64, instances: 2 };
    const countOf = (documentCount: number): number =>
      partitionCount({ sizeBytes: 1, documentCount, isAdopted: true }, settings);
    assert.deepEqual([0, 100_000, 100_001, 1e12].map(countOf), [1, 1, 2, 8_192]);
  });
});

describe('canPartition', () => {
  it('is for all but capped collections', () => {
    assert.equal(canPartition({ options: { clusteredIndex: {} } }), true);
    assert.equal(canPartition({ options: { collation: { locale: 'fr' } } }), true);
    assert.equal(canPartition({ options: { capped: true } }), false);
  });
});
