import assert from 'node:assert/strict';
import { BSON } from 'mongodb';
import { decodeIndexSpec } from '../../mongo/specification.ts';
import { canRefuse } from './loosen-indexes.ts';

describe('canRefuse', () => {
  const cases: [object, boolean][] = [
    [{ _id: 1 }, false],
    [{ a: 1 }, false],
    [{ a: -1 }, false],
    [{ '$**': 1 }, false],
    [{ a: 1, b: 1 }, true],
    [{ a: 'hashed' }, true],
    [{ a: '2dsphere' }, true],
    [{ _fts: 'text', _ftsx: 1 }, true],
  ];
  for (const [key, expected] of cases) {
    it(`${JSON.stringify(key)}: ${expected}`, () => {
      const spec = decodeIndexSpec(BSON.serialize({ name: '_id' in key ? '_id_' : 'x', key }));
      assert.equal(canRefuse(spec), expected);
    });
  }
});
