import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON, BSONSymbol, Code, Decimal128, Double, Int32, Long, ObjectId } from 'mongodb';
import { canonicalKey } from './canonical-id.ts';
import { bsonType, idElement } from './raw-bson.ts';

const keyOf = (value: unknown): string => canonicalKey(idElement(BSON.serialize({ _id: value })));

describe('canonicalKey', () => {
  const equal: [string, unknown[]][] = [
    [
      'one',
      [
        new Int32(1),
        new Double(1),
        Long.fromNumber(1),
        Decimal128.fromString('1.00'),
        Decimal128.fromString('10E-1'),
      ],
    ],
    [
      'zero',
      [
        new Int32(0),
        new Double(0),
        new Double(-0),
        Decimal128.fromString('-0'),
        Decimal128.fromString('0E+5'),
      ],
    ],
    ['not a number', [new Double(NaN), Decimal128.fromString('NaN')]],
    ['infinity', [new Double(Infinity), Decimal128.fromString('Infinity')]],
    [
      '2^53 + 2',
      [
        Long.fromBigInt(9007199254740994n),
        new Double(9007199254740994),
        Decimal128.fromString('9007199254740994'),
      ],
    ],
    ['a text', ['abc', new BSONSymbol('abc')]],
    [
      'a document',
      [
        { a: new Int32(1), b: [new Double(2)] },
        { a: Long.fromNumber(1), b: [new Int32(2)] },
      ],
    ],
    [
      'code with a scope',
      [new Code('f', { n: new Int32(1) }), new Code('f', { n: Decimal128.fromString('1.0') })],
    ],
  ];
  for (const [what, values] of equal) {
    it(`is one for every type of ${what}`, () => {
      assert.equal(new Set(values.map(keyOf)).size, 1, values.map(keyOf).join(' '));
    });
  }

  it('is one for arrays whose elements have other names: drivers number them, but a server takes any', () => {
    const withNames = (...names: readonly string[]): string => {
      const value = Object.fromEntries(names.map((name, index) => [name, index]));
      const bytes = Buffer.from(BSON.serialize({ _id: { list: value } }));
      bytes[bytes.indexOf('\u0003list\0')] = bsonType.array;
      return canonicalKey(idElement(bytes));
    };
    assert.equal(withNames('0', '1'), withNames('5', '7'));
    assert.equal(withNames('0', '1'), keyOf({ list: [0, 1] }));
    assert.notEqual(withNames('0', '1'), withNames('0'));
  });

  it('tells values apart that the server tells apart', () => {
    const id = new ObjectId();
    const different: unknown[] = [
      new Code('f', { n: 1 }),
      new Code('f', { n: 2 }),
      new Code('g', { n: 1 }),
      new Code('f'),
      1,
      2,
      1.5,
      'a',
      'A',
      '',
      true,
      false,
      null,
      id,
      id.toHexString(),
      { a: 1 },
      { b: 1 },
      { a: 1, b: 1 },
      { b: 1, a: 1 },
      {},
      new Date(1),
      /a/,
      Buffer.from('a'),
    ];
    assert.equal(new Set(different.map(keyOf)).size, different.length);
  });

  it('is the same for an integer whatever type holds it', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        assert.equal(keyOf(Long.fromBigInt(value)), keyOf(Decimal128.fromString(String(value))));
      }),
    );
  });

  it('is the same for a double and for the decimal of its exact value', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, min: -1e15, max: 1e15 }), (value) => {
        const rounded = Math.round(value * 1024) / 1024;
        assert.equal(keyOf(new Double(rounded)), keyOf(Decimal128.fromString(rounded.toFixed(10))));
      }),
    );
  });
});
