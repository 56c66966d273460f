import assert from 'node:assert/strict';
import { BSON, Double, Long, Timestamp, type Document } from 'mongodb';
import { hasZeroTimestamp } from './zero-timestamp.ts';

describe('hasZeroTimestamp', () => {
  const zero = new Timestamp({ t: 0, i: 0 });
  const cases: [string, Document, boolean][] = [
    ['at the top', { _id: 1, a: 1, z: zero, b: 2 }, true],
    ['as the last of several', { _id: 1, a: new Timestamp({ t: 1, i: 0 }), z: zero }, true],
    ['as _id', { _id: zero, a: 1 }, false],
    ['deeper', { _id: 1, a: { z: zero }, b: [zero] }, false],
    ['of another type', { _id: 1, a: new Double(0), b: Long.ZERO, c: new Date(0) }, false],
    ['nowhere', { _id: 1 }, false],
  ];
  for (const [where, document, expected] of cases) {
    it(`${where}: ${expected}`, () => {
      assert.equal(hasZeroTimestamp(BSON.serialize(document)), expected);
    });
  }
});
