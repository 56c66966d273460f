import assert from 'node:assert/strict';
import { fittedConcurrency, fittingConcurrency, requestedConcurrency } from './copy-concurrency.ts';

describe('how much of a copy happens side by side', () => {
  it('never takes all connections of a pool, whatever was requested', () => {
    for (let copyWorkers = 1; copyWorkers <= 100; copyWorkers++) {
      const { batches, readers, smallReaders, workers } = requestedConcurrency(copyWorkers, 4);
      assert.deepEqual([readers, smallReaders], [copyWorkers, copyWorkers]);
      assert.equal(workers, Math.min(copyWorkers, 4), 'index builds load the destination');
      assert.ok(batches.max <= 192, `${batches.max} for ${copyWorkers}`);
      assert.ok(batches.max >= copyWorkers);
      assert.deepEqual([batches.min, batches.initial], [batches.max, batches.max]);
    }
    assert.equal(requestedConcurrency(2, 4).batches.max, 6);
  });

  it('has readers for a server far away, by the cores of the destination', () => {
    assert.deepEqual(fittingConcurrency(2), {
      workers: 2,
      readers: 8,
      smallReaders: 8,
      batches: { min: 2, initial: 6, max: 64 },
    });
    assert.equal(fittingConcurrency(4).readers, 16);
  });

  it('loads the destination by itself no more than fits, and a commit not less', () => {
    const workersOf = (copyWorkers: number | undefined): readonly number[] => {
      const { concurrency, fittingWorkers } = fittedConcurrency(copyWorkers, 4);
      return [concurrency.readers, concurrency.workers, fittingWorkers];
    };
    assert.deepEqual(workersOf(undefined), [16, 4, 4]);
    assert.deepEqual(workersOf(100), [100, 4, 4]);
    assert.deepEqual(workersOf(1), [1, 1, 4]);
  });
});
