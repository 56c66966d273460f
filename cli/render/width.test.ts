import assert from 'node:assert/strict';
import fc from 'fast-check';
import { harmless } from '../../service/harmless.ts';
import { cutTo, fitTo, rowsOf, widthOf } from './width.ts';

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

  const rows: readonly (readonly [string, number, number])[] = [
    ['', 80, 1],
    ['shop', 4, 1],
    ['shop.', 4, 2],
    ['shop.orders', 4, 3],
    // A wide character that does not fit goes into the next row as a whole.
    ['a注文', 4, 2],
    ['注文書', 3, 3],
    ['e\u0301e\u0301', 2, 1],
    // It fits nowhere: no endless loop.
    ['注文', 1, 2],
    ['ab', 0, 2],
  ];
  for (const [text, columns, count] of rows) {
    it(`${JSON.stringify(text)} takes ${count} of the rows of ${columns} columns`, () => {
      assert.equal(rowsOf(text, columns), count);
    });
  }

  it('takes one row for what was cut to its columns', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.integer({ min: 1, max: 30 }),
        (text, columns) => {
          assert.equal(rowsOf(cutTo(harmless(text), columns), columns), 1);
        },
      ),
    );
  });

  it('fits any text into any number of columns', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(30), (text, columns) => {
        assert.equal(widthOf(fitTo(harmless(text), columns)), columns);
      }),
    );
  });
});
