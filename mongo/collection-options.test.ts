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
      const found = unsupportedReason(decoded(options));
      if (reason) assert.match(found ?? '', reason);
      else assert.equal(found, undefined);
    });
});

describe('requireSupported', () => {
  const namespace = { db: 'shop', coll: 'orders' };

  it('names the collection, and what it has', () => {
    assert.throws(
      () => {
        requireSupported(namespace, decoded({ compaction: {}, sorting: 1 }));
      },
      {
        name: 'CollectionNotSupported',
        message: 'shop.orders has options that are not supported: compaction, sorting',
      },
    );
  });

  it('takes what is known', () => {
    requireSupported(namespace, decoded({ capped: true, size: 4096 }));
  });
});

describe('withoutServersOwn', () => {
  it('leaves out what the destination decides for itself', () => {
    const options = { capped: true, size: 4096, unknown: 1 };
    assert.deepEqual(withoutServersOwn({ ...options, recordIdsReplicated: true }), options);
  });
});
