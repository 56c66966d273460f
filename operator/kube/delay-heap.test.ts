import assert from 'node:assert/strict';
import fc from 'fast-check';
import { DelayHeap } from './delay-heap.ts';

describe('DelayHeap', () => {
  it('gives each key once, in the order of its earliest time', () => {
    const adds = fc.array(
      fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), fc.nat(20)),
    );
    fc.assert(
      fc.property(adds, (all) => {
        const heap = new DelayHeap();
        const earliest = new Map<string, number>();
        for (const [key, dueMs] of all) {
          heap.add(key, dueMs);
          earliest.set(key, Math.min(dueMs, earliest.get(key) ?? Infinity));
        }
        assert.equal(heap.size, earliest.size);
        let lastMs = -1;
        while (heap.nextDueMs !== undefined) {
          const dueMs = heap.nextDueMs;
          assert.equal(heap.takeDue(dueMs - 1), undefined);
          const key = heap.takeDue(dueMs);
          assert.ok(key !== undefined && earliest.get(key) === dueMs && dueMs >= lastMs);
          earliest.delete(key);
          lastMs = dueMs;
        }
        assert.equal(earliest.size, 0);
      }),
    );
  });
});
