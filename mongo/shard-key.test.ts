import assert from 'node:assert/strict';
import { BSON } from 'mongodb';
import { canBeUnique, isPlacedById, supportsShardKey, type ShardKey } from './shard-key.ts';
import { decodeIndexSpec, type IndexSpec } from './specification.ts';

const index = (key: object, options: object = {}): IndexSpec =>
  decodeIndexSpec(BSON.serialize({ v: 2, key, name: 'x', ...options }));

const ascending = (...fields: string[]): ShardKey => fields.map((field) => ({ field, kind: 1 }));
const hashed: ShardKey = [{ field: 'a', kind: 'hashed' }];

describe('shard keys', () => {
  const supporting: readonly (readonly [ShardKey, IndexSpec, boolean])[] = [
    [ascending('a'), index({ a: 1 }), true],
    [ascending('a'), index({ a: new BSON.Double(1) }), true],
    [ascending('a'), index({ a: 1, b: -1 }), true],
    [ascending('a.b', 'c'), index({ 'a.b': 1, c: 1 }), true],
    [ascending('a', 'b'), index({ a: 1 }), false],
    [ascending('a', 'b'), index({ b: 1, a: 1 }), false],
    [ascending('a'), index({ a: -1 }), false],
    [ascending('a'), index({ a: 'hashed' }), false],
    [hashed, index({ a: 'hashed', b: 1 }), true],
    [hashed, index({ a: 1 }), false],
    [ascending('_id'), index({ _id: 1 }), true],
    [ascending('a'), index({ a: 1 }, { unique: true, expireAfterSeconds: 1 }), true],
    [ascending('a'), index({ a: 1 }, { sparse: true }), false],
    [ascending('a'), index({ a: 1 }, { hidden: true }), false],
    [ascending('a'), index({ a: 1 }, { partialFilterExpression: {} }), false],
    [ascending('a'), index({ a: 1 }, { collation: { locale: 'de' } }), false],
  ];
  for (const [key, spec, expected] of supporting) {
    it(`${JSON.stringify(spec)} ${expected ? 'supports' : 'does not support'} ${JSON.stringify(key)}`, () => {
      assert.equal(supportsShardKey(spec, key), expected);
    });
  }

  it('an index can be unique that begins with the fields of the key, or is on _id', () => {
    assert.ok(canBeUnique(index({ a: 1, b: 1 }), ascending('a')));
    assert.ok(canBeUnique(index({ a: -1 }), hashed));
    assert.ok(canBeUnique(index({ _id: 1 }), ascending('a')));
    assert.ok(!canBeUnique(index({ b: 1, a: 1 }), ascending('a')));
    assert.ok(!canBeUnique(index({ a: 1 }), ascending('a', 'b')));
  });

  it('the _id places a document where it is the key, or there is none', () => {
    assert.ok(isPlacedById(null));
    assert.ok(isPlacedById(ascending('_id')));
    assert.ok(isPlacedById([{ field: '_id', kind: 'hashed' }]));
    assert.ok(!isPlacedById(ascending('_id', 'a')));
    assert.ok(!isPlacedById(ascending('a')));
  });
});
