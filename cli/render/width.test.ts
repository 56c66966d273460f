import assert from 'node:assert/strict';
import fc from 'fast-check';
import { harmless } from '../../service/harmless.ts';
import { cutTo, fitTo, widthOf } from './width.ts';

describe('widths', () => {
  const cases: readonly (readonly [string, number])[] = [
    ['', 0],
    ['shop.orders', 11],
    ['é', 1],
    ['e\u0301', 1],
    ['注文', 4],
    ['주문', 4],
    ['🚀', 2],
    ['█░…→', 4],
  ];
  for (const [text, width] of cases) {
    it(`${JSON.stringify(text)} takes ${width} columns`, () => {
      assert.equal(widthOf(text), width);
    });
  }

  it('cuts what is too long, never a wide character in two', () => {
    assert.equal(cutTo('shop.orders', 11), 'shop.orders');
    assert.equal(cutTo('shop.orders', 6), 'shop.…');
    assert.equal(cutTo('注文書', 4), '注…');
    assert.equal(cutTo('ab', 1), '…');
    assert.equal(cutTo('ab', 0), '');
  });

  it('fits any text into any number of columns', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(30), (text, columns) => {
        assert.equal(widthOf(fitTo(harmless(text), columns)), columns);
      }),
    );
  });
});
