import assert from 'node:assert/strict';
import { BSON, type Document } from 'mongodb';
import { requireSupported, unsupportedReason, withoutServersOwn } from './collection-options.ts';
import { decodeSpec } from './specification.ts';

const decoded = (options: Document): Document => decodeSpec(BSON.serialize(options));
const fields = [{ path: 'number', bsonType: 'string', queries: { queryType: 'equality' } }];

describe('unsupportedReason', () => {
  const cases: readonly (readonly [what: string, options: Document, reason?: RegExp])[] = [
    ['nothing', {}],
    ['an ordinary collection', { collation: { locale: 'fr' }, validationAction: 'errorAndLog' }],
    ['a clustered one', { clusteredIndex: { key: { _id: 1 }, unique: true } }],
    [
      'one with Queryable Encryption (7.0)',
      { encryptedFields: { escCollection: 'e', ecocCollection: 'c', fields } },
    ],
    [
      'one with its public preview (6.0)',
      { encryptedFields: { escCollection: 'e', eccCollection: 'f', ecocCollection: 'c', fields } },
      /^is encrypted as in the public preview/,
    ],
    [
      'an option of a later server',
      { collation: { locale: 'fr' }, compaction: {} },
      /^has options that are not supported: compaction$/,
    ],
    [
      'a time-series collection that is no view',
      { timeseries: { timeField: 't' } },
      /: timeseries$/,
    ],
  ];
  for (const [what, options, reason] of cases)
    it(what, () => {
      const found = unsupportedReason(decoded(options), '6.0.27');
      if (reason) assert.match(found ?? '', reason);
      else assert.equal(found, undefined);
    });
});

describe('unsupportedReason, of an option that later servers no longer have', () => {
  for (const [version, reason] of [
    ['6.0.27', undefined],
    ['7.0.28', 'has options that MongoDB 7.0.28 no longer has: recordPreImages'],
    ['8.0.4', 'has options that MongoDB 8.0.4 no longer has: recordPreImages'],
  ] as const)
    it(`to ${version}: ${reason ?? 'none'}`, () => {
      assert.equal(unsupportedReason(decoded({ recordPreImages: true }), version), reason);
    });
});

describe('requireSupported', () => {
  const namespace = { db: 'shop', coll: 'orders' };

  it('names the collection, and what it has', () => {
    assert.throws(
      () => {
        requireSupported(namespace, decoded({ compaction: {}, sorting: 1 }), '6.0.27');
      },
      {
        name: 'CollectionNotSupported',
        message: 'shop.orders has options that are not supported: compaction, sorting',
      },
    );
  });

  it('takes what is known', () => {
    requireSupported(namespace, decoded({ capped: true, size: 4096 }), '7.0.28');
  });
});

describe('withoutServersOwn', () => {
  it('leaves out what the destination decides for itself', () => {
    const options = { capped: true, size: 4096, unknown: 1 };
    assert.deepEqual(withoutServersOwn({ ...options, recordIdsReplicated: true }), options);
  });
});
