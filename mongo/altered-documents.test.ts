import assert from 'node:assert/strict';
import {
  Binary,
  BSON,
  BSONRegExp,
  BSONSymbol,
  Code,
  DBRef,
  Decimal128,
  Double,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  type Document,
} from 'mongodb';
import { findZeroTimestamps, hasZeroTimestamp, isStoredUnchanged } from './altered-documents.ts';
import { elementsOf, valueBytes } from './raw-bson.ts';

describe('hasZeroTimestamp', () => {
  const zero = new Timestamp({ t: 0, i: 0 });
  const everyType = {
    double: new Double(0),
    string: 'a\0b',
    document: { z: zero },
    array: [zero],
    binary: new Binary(Buffer.alloc(20)),
    oldBinary: new Binary(Buffer.alloc(20), 2),
    objectId: new ObjectId('000000000000000000000000'),
    boolean: false,
    date: new Date(0),
    null: null,
    regex: new BSONRegExp('a', 'i'),
    emptyRegex: new BSONRegExp('', ''),
    reference: new DBRef('c', new ObjectId()),
    code: new Code('x'),
    symbol: new BSONSymbol('s'),
    codeWithScope: new Code('x', { z: zero }),
    int32: 0,
    timestamp: new Timestamp({ t: 0, i: 1 }),
    int64: Long.ZERO,
    decimal: Decimal128.fromString('0'),
    minKey: new MinKey(),
    maxKey: new MaxKey(),
  };
  const cases: [string, Document, boolean][] = [
    ['at the top', { _id: 1, a: 1, z: zero, b: 2 }, true],
    ['as the last of several', { _id: 1, a: new Timestamp({ t: 1, i: 0 }), z: zero }, true],
    ['as _id', { _id: zero, a: 1 }, false],
    ['deeper', { _id: 1, a: { z: zero }, b: [zero] }, false],
    ['of another type', { _id: 1, a: new Double(0), b: Long.ZERO, c: new Date(0) }, false],
    ['nowhere', { _id: 1 }, false],
    ['nowhere in an empty document', {}, false],
    ['of every type, before', { ...everyType, z: zero }, true],
    ['of every type, after', { z: zero, ...everyType }, true],
    ['of every type', everyType, false],
  ];
  for (const [where, document, expected] of cases) {
    it(`${where}: ${expected}`, () => {
      assert.equal(hasZeroTimestamp(BSON.serialize(document)), expected);
    });
  }

  it('steps over a DBPointer and an undefined value', () => {
    // Types that the driver does not write: pointer { 'ns', 12 bytes }, then undefined, then the timestamp.
    const pointer = Buffer.from([
      0x0c,
      0x70,
      0,
      3,
      0,
      0,
      0,
      0x6e,
      0x73,
      0,
      ...Array<number>(12).fill(0),
    ]);
    const rest = Buffer.from([0x06, 0x75, 0, 0x11, 0x7a, 0, ...Array<number>(8).fill(0), 0]);
    const length = Buffer.alloc(4);
    length.writeInt32LE(4 + pointer.length + rest.length);
    assert.equal(hasZeroTimestamp(Buffer.concat([length, pointer, rest])), true);
  });
});

describe('findZeroTimestamps', () => {
  const arrayOf = (documents: Document[]): Uint8Array => {
    const [element] = elementsOf(BSON.serialize({ documents }));
    assert.ok(element);
    return valueBytes(element);
  };

  it('gives the documents of an array that have one, and the sums of all', () => {
    const zero = new Timestamp({ t: 0, i: 0 });
    const documents = Array.from({ length: 120 }, (_, number) =>
      number % 50 === 7 ? { _id: number, z: zero } : { _id: number, a: { z: zero } },
    );
    const bytes = documents.map((document) => BSON.serialize(document));
    assert.deepEqual(findZeroTimestamps(arrayOf(documents)), {
      count: 120,
      totalBytes: Buffer.concat(bytes).length,
      found: [7, 57, 107].map((number) => Buffer.from(bytes[number] ?? [])),
    });
  });

  it('finds nothing in an empty array', () => {
    assert.deepEqual(findZeroTimestamps(arrayOf([])), { count: 0, totalBytes: 0, found: [] });
  });
});

describe('isStoredUnchanged', () => {
  const cases: [string, Document, boolean][] = [
    ['an ordinary document', { _id: 1, a: { $b: 1 }, c$: 2 }, true],
    ['a name that begins with a dollar', { _id: 1, a: 1, $b: 2 }, false],
    ['a name that is a dollar', { _id: 1, $: 2 }, false],
    ['a timestamp of zero', { _id: 1, z: new Timestamp({ t: 0, i: 0 }) }, false],
    ['a timestamp of zero as _id', { _id: new Timestamp({ t: 0, i: 0 }) }, true],
  ];
  for (const [what, document, expected] of cases) {
    it(`${what}: ${expected}`, () => {
      assert.equal(isStoredUnchanged(BSON.serialize(document)), expected);
    });
  }
});
