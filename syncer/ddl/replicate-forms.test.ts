import assert from 'node:assert/strict';
import { BSON, Double, Int32 } from 'mongodb';
import { decodeIndexSpec, type IndexSpec } from '../../mongo/specification.ts';
import { indexChanges, optionsChange } from './replicate-forms.ts';

const index = (options: object): IndexSpec =>
  decodeIndexSpec(BSON.serialize({ name: 'i', key: { a: 1 }, ...options }));
const unaltered = [
  index({ name: '_id_', key: { _id: 1 } }),
  index({ name: 'c', key: { _id: 1 }, unique: true, clustered: true }),
  index({ sparse: true }),
  index({ expireAfterSeconds: 2_147_483_647 }),
  index({ hidden: false, unique: false }),
];

describe('indexChanges', () => {
  it('takes off what the replicated form has not, one change for each', () => {
    const spec = index({ unique: true, hidden: true, expireAfterSeconds: 5 });
    assert.deepEqual(indexChanges([spec]), [
      { name: 'i', forceNonUnique: true },
      { name: 'i', hidden: false },
      { name: 'i', expireAfterSeconds: new Int32(2_147_483_647) },
    ]);
    assert.deepEqual(indexChanges([index({ prepareUnique: true })]), [
      { name: 'i', prepareUnique: false },
    ]);
  });

  it('leaves alone what has that form, and the index on _id', () => {
    assert.deepEqual(indexChanges(unaltered), []);
  });
});

describe('optionsChange', () => {
  it('takes the limits off a capped collection, and the TTL off a clustered one', () => {
    const size = new Double(1e15);
    const capped = { capped: true, size: 100 };
    assert.deepEqual(optionsChange(capped), { cappedSize: size });
    const cappedMax = new Int32(0);
    assert.deepEqual(optionsChange({ ...capped, max: 3 }), { cappedSize: size, cappedMax });
    assert.deepEqual(optionsChange({ expireAfterSeconds: 60 }), { expireAfterSeconds: 'off' });
  });

  it('changes nothing where there is nothing to change, or it is done', () => {
    assert.equal(optionsChange({ validator: {} }), undefined);
    const done = { capped: true, size: 1e15, max: 2_147_483_647 };
    assert.equal(optionsChange(done), undefined);
  });
});
