import assert from 'node:assert/strict';
import { BSON, Binary, Decimal128, Double, Int32, Long, MaxKey, ObjectId, UUID } from 'mongodb';
import { idBytes, idKey, idText } from './id-key.ts';

describe('idKey', () => {
  const ids: readonly unknown[] = [
    new Int32(1),
    new Double(1),
    new Double(-0),
    new Double(NaN),
    Long.fromString('9223372036854775807'),
    Decimal128.fromString('1.10'),
    'ünï\u0000code',
    '',
    new ObjectId(),
    new UUID(),
    new Binary(Buffer.from('x'), 2),
    new Date(0),
    null,
    true,
    new MaxKey(),
    { a: new Int32(1), b: { c: 'x' } },
    { $ref: 'a', $id: 1, extra: 2 },
  ];

  it('is another one for every id, and stands for its very bytes', () => {
    const keys = ids.map((_id) => idKey(BSON.serialize({ other: 1, _id })));
    assert.equal(new Set(keys).size, ids.length);
    for (const [index, key] of keys.entries()) {
      assert.deepEqual(Buffer.from(idBytes(key)), Buffer.from(BSON.serialize({ _id: ids[index] })));
    }
  });

  it('is shown in canonical EJSON, cut off where it is long', () => {
    assert.equal(idText(idKey(BSON.serialize({ _id: new Double(1) }))), '{"$numberDouble":"1.0"}');
    assert.equal(idText(idKey(BSON.serialize({ _id: 'x'.repeat(5000) }))).length, 1027);
  });
});
