import assert from 'node:assert/strict';
import fc from 'fast-check';
import { inGroupsOf } from './groups.ts';

describe('inGroupsOf', () => {
  it('gives every item once, in order, in full groups but for the last, none of which is empty', () => {
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
