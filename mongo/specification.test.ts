import assert from 'node:assert/strict';
import { BSON, Double, Int32, Long } from 'mongodb';
import { decodeSpec, isSameOptions } from './specification.ts';

const options = (document: object) => decodeSpec(BSON.serialize(document));

describe('isSameOptions', () => {
  it('is true in another order, and with other types of numbers', () => {
    const one = { viewOn: 'a', pipeline: [{ $match: { n: 1 } }], capped: true, size: 4096 };
    const other = {
      size: new Double(4096),
      capped: true,
      pipeline: [{ $match: { n: 1 } }],
      viewOn: 'a',
    };
    assert.ok(isSameOptions(options(one), options(other)));
    assert.ok(isSameOptions({ size: new Double(1e15) }, { size: Long.fromNumber(1e15) }));
    assert.ok(isSameOptions({ size: 1 }, { size: new Int32(1) }));
    assert.ok(isSameOptions({}, {}));
  });

  it('is false where one has another value, or another option', () => {
    const one = { validator: { n: { $gt: 1 } }, capped: true };
    for (const other of [
      {},
      { capped: true },
      { ...one, capped: false },
      { ...one, max: 1 },
      { validator: { n: { $gt: 2 } }, capped: true },
      { capped: true, collation: { locale: 'en' } },
    ]) {
      assert.ok(!isSameOptions(options(one), options(other)), JSON.stringify(other));
      assert.ok(!isSameOptions(options(other), options(one)), JSON.stringify(other));
    }
    assert.ok(!isSameOptions({ viewOn: 'a' }, { viewOn: 'b' }));
  });
});
