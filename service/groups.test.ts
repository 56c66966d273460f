import assert from 'node:assert/strict';
import fc from 'fast-check';
import { inGroupsOf, inGroupsWithin } from './groups.ts';

describe('inGroupsOf', () => {
  it('returns every item once, in order, in full groups except for the last, and no empty group', () => {
    fc.assert(
      fc.property(fc.array(fc.nat()), fc.integer({ min: 1, max: 7 }), (items, size) => {
        const groups = [...inGroupsOf(items, size)];
        assert.deepEqual(groups.flat(), items);
        assert.ok(groups.slice(0, -1).every(({ length }) => length === size));
        assert.ok(groups.every(({ length }) => length > 0 && length <= size));
      }),
    );
  });
});

describe('inGroupsWithin', () => {
  it('returns every item once, in order, within the limits, and in no more groups than necessary', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 20 })),
        fc.integer({ min: 1, max: 5 }),
        fc.nat({ max: 30 }),
        (items, maxItems, maxBytes) => {
          const bytesOf = (item: number): number => item;
          const groups = [...inGroupsWithin(items, { maxItems, maxBytes, bytesOf })];
          assert.deepEqual(groups.flat(), items);
          const sum = (group: readonly number[]): number =>
            group.reduce((all, one) => all + one, 0);
          for (const [index, group] of groups.entries()) {
            assert.ok(group.length > 0 && group.length <= maxItems);
            assert.ok(group.length === 1 || sum(group) <= maxBytes);
            const [next] = groups[index + 1] ?? [];
            if (next === undefined) continue;
            assert.ok(group.length === maxItems || sum(group) + next > maxBytes);
          }
        },
      ),
    );
  });
});
