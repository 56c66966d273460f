import assert from 'node:assert/strict';
import fc from 'fast-check';
import { covers } from './applier.ts';

describe('covers', () => {
  it('takes a value for what it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        assert.ok(covers(structuredClone(value), value));
      }),
    );
  });

  it('lets others have fields of their own', () => {
    assert.ok(
      covers({ a: 1, defaulted: true, list: [{ b: 2, c: 3 }] }, { a: 1, list: [{ b: 2 }] }),
    );
  });

  for (const [what, live, wanted] of [
    ['a field that is missing', {}, { a: 1 }],
    ['a field that is another', { a: 2 }, { a: 1 }],
    ['an element too many', { list: [1, 2] }, { list: [1] }],
    ['elements in another order', [{ a: 1 }, { a: 2 }], [{ a: 2 }, { a: 1 }]],
    ['a list in place of an object', [], { a: 1 }],
    ['nothing', undefined, { a: 1 }],
  ] as const) {
    it(`notices ${what}`, () => {
      assert.equal(covers(live, wanted), false);
    });
  }
});
