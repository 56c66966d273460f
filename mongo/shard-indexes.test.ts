import assert from 'node:assert/strict';
import { BSON, type Document } from 'mongodb';
import { unevenIndexes } from './shard-indexes.ts';
import { decodeIndexSpec } from './specification.ts';

const index = (name: string, options: Document = {}) =>
  decodeIndexSpec(BSON.serialize({ v: 2, key: { a: 1 }, name, ...options }));

describe('unevenIndexes', () => {
  const cases: readonly (readonly [string, Document, Document, Document])[] = [
    ['one that both shards have', {}, {}, {}],
    ['another order of fields', { sparse: true, weights: 1 }, { weights: 1, sparse: true }, {}],
    [
      'what collMod changes',
      { hidden: true, expireAfterSeconds: 5 },
      { expireAfterSeconds: 6, unique: true },
      {},
    ],
    ['another key', {}, { key: { b: 1 } }, { i: 'not the same on one, two' }],
    [
      'another order of the key',
      { key: { a: 1, b: 1 } },
      { key: { b: 1, a: 1 } },
      { i: 'not the same on one, two' },
    ],
    ['another option', { sparse: true }, {}, { i: 'not the same on one, two' }],
  ];
  for (const [what, one, two, expected] of cases) {
    it(`looks at how an index is built: ${what}`, () => {
      const shards = new Map([
        ['two', [index('i', two)]],
        ['one', [index('i', one)]],
      ]);
      assert.deepEqual(Object.fromEntries(unevenIndexes(shards)), expected);
    });
  }

  it('names the shards that lack an index', () => {
    const shards = new Map([
      ['c', [index('_id_')]],
      ['b', [index('_id_'), index('i')]],
      ['a', [index('_id_')]],
    ]);
    assert.deepEqual(Object.fromEntries(unevenIndexes(shards)), { i: 'not on a, c' });
    assert.deepEqual(unevenIndexes(new Map()), new Map());
  });
});
