import assert from 'node:assert/strict';
import { BSON, Double, Int32 } from 'mongodb';
import { replicatedIndex, replicatedOptions } from './replicated-form.ts';
import { decodeIndexSpec, encodeSpec } from './specification.ts';

describe('replicatedIndex', () => {
  const base = { v: new Int32(2), key: { a: new Int32(1) }, name: 'a_1' };
  const compoundWildcard = {
    v: new Int32(2),
    key: { a: new Int32(1), 'b.$**': new Int32(1) },
    name: 'a_1_b.$**_1',
    wildcardProjection: { 'b.c': new Int32(0), _id: new Int32(1) },
  };
  const cases: [string, object, object][] = [
    ['an ordinary index', base, base],
    ['unique', { ...base, unique: true }, base],
    ['prepareUnique', { ...base, prepareUnique: true }, base],
    ['hidden', { ...base, hidden: true }, base],
    [
      'TTL',
      { ...base, expireAfterSeconds: new Int32(5) },
      { ...base, expireAfterSeconds: new Int32(2147483647) },
    ],
    [
      'all else kept',
      {
        ...base,
        sparse: true,
        partialFilterExpression: { a: 1 },
        collation: { locale: 'fr' },
        storageEngine: {},
      },
      {
        ...base,
        sparse: true,
        partialFilterExpression: { a: 1 },
        collation: { locale: 'fr' },
        storageEngine: {},
      },
    ],
    ['compound wildcard (7.0)', compoundWildcard, compoundWildcard],
    ['compound wildcard (7.0), hidden', { ...compoundWildcard, hidden: true }, compoundWildcard],
    ['_id', { v: 2, key: { _id: 1 }, name: '_id_' }, { v: 2, key: { _id: 1 }, name: '_id_' }],
    [
      'clustered',
      { v: 2, key: { _id: 1 }, name: 'mine', unique: true, clustered: true },
      { v: 2, key: { _id: 1 }, name: 'mine', unique: true, clustered: true },
    ],
  ];
  for (const [what, spec, expected] of cases) {
    it(what, () => {
      const replicated = replicatedIndex(decodeIndexSpec(BSON.serialize(spec)));
      assert.deepEqual(encodeSpec(replicated), BSON.serialize(expected));
    });
  }
});

describe('replicatedOptions', () => {
  it('lets nothing fall out of a capped collection', () => {
    assert.deepEqual(replicatedOptions({ capped: true, size: 4096, max: 10, comment: 'x' }), {
      capped: true,
      size: new Double(1e15),
      comment: 'x',
    });
  });

  it('lets nothing expire in a clustered collection', () => {
    const clusteredIndex = { v: 2, key: { _id: 1 }, name: '_id_', unique: true };
    assert.deepEqual(replicatedOptions({ clusteredIndex, expireAfterSeconds: new Int32(60) }), {
      clusteredIndex,
    });
  });

  it('does not cap a clustered collection, which the server would refuse to create', () => {
    const clusteredIndex = { v: 2, key: { _id: 1 }, name: '_id_', unique: true };
    assert.deepEqual(replicatedOptions({ clusteredIndex, capped: true, size: 4096, max: 1 }), {
      clusteredIndex,
    });
  });

  it('makes a temporary collection one that stays', () => {
    assert.deepEqual(replicatedOptions({ temp: true, validator: { a: 1 } }), {
      validator: { a: 1 },
    });
  });

  it('keeps everything else', () => {
    const options = {
      validator: { a: 1 },
      collation: { locale: 'fr' },
      changeStreamPreAndPostImages: { enabled: true },
    };
    assert.deepEqual(replicatedOptions(options), options);
  });
});
