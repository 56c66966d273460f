import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON, Binary, Decimal128, Double, Int32, Long, type Document } from 'mongodb';
import { bsonType, elementsOf } from '../../mongo/raw-bson.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { firstDifference, relaxedText } from './document-difference.ts';

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

describe('relaxedText', () => {
  /** The bounds of a range, for example. */
  function textOf(value: unknown, type?: number): string {
    const bytes = Buffer.from(BSON.serialize({ a: value }));
    if (type !== undefined) bytes[4] = type;
    const [element] = elementsOf(BSON.serialize({ key: {} }));
    assert.ok(element);
    return relaxedText(
      new RawValue('key', { ...element, ...{ bytes, offset: 0 }, length: bytes.length }),
    );
  }
  const long = (text: string): Long => Long.fromString(text);
  const date = (milliseconds: string): string => textOf(long(milliseconds), bsonType.date);

  it('is the same for numbers of the same value, whatever their types', () => {
    assert.equal(textOf(long('5')), textOf(new Double(5)));
    assert.equal(textOf(long('5')), textOf(new Int32(5)));
    assert.equal(textOf(long('-4611686018427387904')), textOf(new Double(-(2 ** 62))));
  });

  it('tells apart what is the same as doubles, or as dates of JavaScript', () => {
    assert.notEqual(textOf(long('5')), textOf(long('6')));
    assert.notEqual(textOf(long('-4611686018427387902')), textOf(long('-4611686018427387900')));
    assert.notEqual(date('9000000000000000'), date('9000000000000001'));
    assert.equal(date('9000000000000000'), date('9000000000000000'));
  });
});
