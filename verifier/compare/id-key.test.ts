import assert from 'node:assert/strict';
import { BSON, Binary, Decimal128, Double, Int32, Long, MaxKey, ObjectId, UUID } from 'mongodb';
import { idDocument, idKey, idText } from './id-key.ts';

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

  it('is another one for every id, and can be sent as it was', () => {
    const keys = ids.map((_id) => idKey(BSON.serialize({ other: 1, _id })));
    assert.equal(new Set(keys).size, ids.length);
    keys.forEach((key, index) => {
      const document = idDocument(key);
      assert.ok(document, `id ${index}`);
      assert.deepEqual(
        Buffer.from(BSON.serialize(document)),
        Buffer.from(BSON.serialize({ _id: ids[index] })),
      );
    });
  });

  it('knows ids that the driver would change', () => {
    // {_id: {"2": 1, "1": 1}}: JavaScript puts such names in the order of their numbers.
    const inner = Buffer.from('13000000103200010000001031000100000000', 'hex');
    const bytes = Buffer.concat([
      Buffer.from('1d000000035f696400', 'hex'),
      inner,
      Buffer.from([0]),
    ]);
    bytes.writeInt32LE(bytes.length, 0);
    assert.equal(idDocument(idKey(bytes)), undefined);
  });

  it('is shown in canonical EJSON, cut off where it is long', () => {
    assert.equal(idText(idKey(BSON.serialize({ _id: new Double(1) }))), '{"$numberDouble":"1.0"}');
    assert.equal(idText(idKey(BSON.serialize({ _id: 'x'.repeat(5000) }))).length, 1027);
  });
});
