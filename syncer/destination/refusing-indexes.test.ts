import assert from 'node:assert/strict';
import { BSON } from 'mongodb';
import { shardKeyIndexName } from '../../mongo/shard-key.ts';
import { decodeIndexSpec } from '../../mongo/specification.ts';
import { canRefuse } from './refusing-indexes.ts';

describe('canRefuse', () => {
  const cases: [key: object, expected: boolean, options?: object][] = [
    [{ _id: 1 }, false],
    [{ a: 1 }, false],
    [{ a: -1 }, false],
    [{ '$**': 1 }, false],
    [{ a: 1, b: 1 }, true],
    [{ a: 1, 'b.$**': 1 }, true],
    [{ a: 'hashed' }, true],
    [{ a: '2dsphere' }, true],
    [{ _fts: 'text', _ftsx: 1 }, true],
    [{ 'list.0': 1 }, true],
    [{ 'list.10.a': 1 }, true],
    [{ 'list.0.$**': 1 }, true],
    [{ 'list.a0': 1 }, false],
    [{ '0.a': 1 }, false],
    [{ a: 1 }, true, { collation: { locale: 'sv' } }],
    [{ '$**': 1 }, true, { collation: { locale: 'sv' } }],
    [{ _id: 1 }, false, { collation: { locale: 'sv' } }],
    [{ a: 1 }, true, { v: 1 }],
    [{ _id: 1 }, false, { v: 1 }],
  ];
  it('is false for the index that the sync has made for a shard key', () => {
    const key = { k: 1, [shardKeyIndexName]: 1 };
    const spec = decodeIndexSpec(BSON.serialize({ v: 2, name: shardKeyIndexName, key }));
    assert.equal(canRefuse(spec), false);
  });

  for (const [key, expected, options = {}] of cases) {
    it(`${JSON.stringify({ key, ...options })}: ${expected}`, () => {
      const name = '_id' in key ? '_id_' : 'x';
      const spec = decodeIndexSpec(BSON.serialize({ v: 2, name, key, ...options }));
      assert.equal(canRefuse(spec), expected);
    });
  }
});
