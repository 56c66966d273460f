import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON, Binary, Decimal128, Double, Int32, Long, type Document } from 'mongodb';
import { firstDifference } from './document-difference.ts';

describe('firstDifference', () => {
  const table: readonly [string, Document, Document, string, RegExp][] = [
    ['a value', { a: 1, b: 'x' }, { a: 1, b: 'y' }, 'b', /another value/],
    ['a type', { a: new Int32(1) }, { a: new Double(1) }, 'a', /int on the source, double on the/],
    ['a long', { a: Long.ONE }, { a: new Int32(1) }, 'a', /long on the source, int on the/],
    [
      'a decimal',
      { a: Decimal128.fromString('1.0') },
      { a: Decimal128.fromString('1.00') },
      'a',
      /another/,
    ],
    [
      'a subtype',
      { a: new Binary(Buffer.from('x'), 0) },
      { a: new Binary(Buffer.from('x'), 5) },
      'a',
      /another value/,
    ],
    ['a missing field', { a: 1, b: 2, c: 3 }, { a: 1, c: 3 }, 'b', /missing on the destination/],
    ['the last field missing', { a: 1, b: 2 }, { a: 1 }, 'b', /missing on the destination/],
    ['an extra field', { a: 1, c: 3 }, { a: 1, b: 2, c: 3 }, 'b', /not on the source/],
    ['an extra field at the end', { a: 1 }, { a: 1, b: 2 }, 'b', /not on the source/],
    ['the order', { a: 1, b: 2 }, { b: 2, a: 1 }, 'a', /another order/],
    [
      'a deep value',
      { a: { b: [{ c: 1 }, { c: 2 }] } },
      { a: { b: [{ c: 1 }, { c: 3 }] } },
      'a.b.1.c',
      /value/,
    ],
    ['a shorter array', { a: [1, 2] }, { a: [1] }, 'a.1', /missing on the destination/],
    ['null and missing', { a: null }, {}, 'a', /missing on the destination/],
    [
      'an object and an array',
      { a: { 0: 1 } },
      { a: [1] },
      'a',
      /object on the source, array on the/,
    ],
  ];
  for (const [name, source, destination, field, detail] of table) {
    it(`names ${name}`, () => {
      const found = firstDifference(BSON.serialize(source), BSON.serialize(destination));
      assert.equal(found?.field, field);
      assert.match(found.detail, detail);
    });
  }

  it('tells another order only where nothing else differs', () => {
    const of = (source: Document, destination: Document) =>
      firstDifference(BSON.serialize(source), BSON.serialize(destination));
    assert.equal(of({ a: 1, b: 2 }, { b: 2, a: 1 })?.isOrder, true);
    assert.deepEqual(of({ a: { x: 1, y: 2 } }, { a: { y: 2, x: 1 } }), {
      field: 'a.x',
      detail: 'fields in another order',
      isOrder: true,
    });
    const both = of({ a: 1, b: 2, c: 3 }, { b: 2, a: 1, c: 4 });
    assert.deepEqual([both?.field, both?.isOrder], ['c', undefined]);
    const array = of({ a: [1, 2] }, { a: [2, 1] });
    assert.deepEqual([array?.field, array?.isOrder], ['a.0', undefined]);
  });

  it('names both types, and values only where they are asked for', () => {
    const [left, right] = [{ a: { b: 'secret' } }, { a: { b: Long.ONE } }].map((each) =>
      BSON.serialize(each),
    );
    assert.ok(left && right);
    const types = { sourceType: 'string', destinationType: 'long' };
    const detail = 'string on the source, long on the destination';
    assert.deepEqual(firstDifference(left, right), { field: 'a.b', detail, ...types });
    assert.deepEqual(firstDifference(left, right, true), {
      field: 'a.b',
      detail,
      ...types,
      sourceValue: '"secret"',
      destinationValue: '{"$numberLong":"1"}',
    });
  });

  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.integer({ min: 0, max: 3 }),
      fc.constantFrom('', 'x', null, true, new Double(1), Long.ONE),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3 }),
    ),
  })).value;
  const document = fc.dictionary(fc.constantFrom('a', 'b', 'c'), value, { maxKeys: 3 });

  it('is undefined exactly for documents of the same bytes', () => {
    fc.assert(
      fc.property(document, document, (source, destination) => {
        const [left, right] = [BSON.serialize(source), BSON.serialize(destination)];
        const isSame = Buffer.from(left).equals(right);
        const found = firstDifference(left, right);
        assert.equal(found === undefined, isSame);
        assert.equal(firstDifference(right, left)?.field !== '', true);
        if (found) assert.notEqual(found.field, '');
      }),
      { numRuns: 1000 },
    );
  });
});
