import assert from 'node:assert/strict';
import { differencesOf, optionsDigest } from './options-digest.ts';

const body = { source: 'cluster0', destination: 'cluster1' };
const filter = [{ database: 'shop', collectionsRegex: { pattern: 'a', options: 'i' } }];

describe('optionsDigest', () => {
  it('is the same whatever the order of fields, and whether defaults and absent fields are written out', () => {
    const digest = optionsDigest({ ...body, reversible: true, includeNamespaces: filter });
    assert.match(digest, /^[0-9a-f]{64}$/);
    const other = {
      includeNamespaces: [{ collectionsRegex: { options: 'i', pattern: 'a' }, database: 'shop' }],
      excludeNamespaces: null,
      sharding: undefined,
      enableUserWriteBlocking: false,
      buildIndexes: 'beforeDataCopy',
      reversible: true,
      destination: 'cluster1',
      source: 'cluster0',
    };
    assert.equal(optionsDigest(other), digest);
    assert.deepEqual(
      differencesOf(other, { ...body, reversible: true, includeNamespaces: filter }),
      [],
    );
  });

  it('stays the same from version to version', () => {
    assert.equal(
      optionsDigest({ ...body, enableUserWriteBlocking: true, excludeNamespaces: filter }),
      '63e62ba8c14dccacf1f04e543417f0cb8527c689828fd4bb0ac997ce3149b5e3',
    );
  });

  it('depends on the order of lists', () => {
    const key = (fields: readonly string[]): object => ({
      ...body,
      sharding: {
        shardingEntries: [
          {
            database: 'a',
            collection: 'b',
            shardCollection: { key: fields.map((field) => ({ [field]: 1 })) },
          },
        ],
      },
    });
    assert.notEqual(optionsDigest(key(['x', 'y'])), optionsDigest(key(['y', 'x'])));
  });
});

describe('differencesOf', () => {
  it('names each field that differs, with both values', () => {
    const stored = {
      ...body,
      includeNamespaces: filter,
      buildIndexes: 'never',
      sharding: { shardingEntries: [] },
    };
    const given = {
      ...body,
      enableUserWriteBlocking: true,
      sharding: { shardingEntries: [], createSupportingIndexes: true },
    };
    assert.deepEqual(differencesOf(given, stored), [
      'buildIndexes was "never", and is "beforeDataCopy" here',
      'enableUserWriteBlocking was false, and is true here',
      `includeNamespaces was ${JSON.stringify(filter.map(({ database, collectionsRegex: { options, pattern } }) => ({ collectionsRegex: { options, pattern }, database })))}, and is not given here`,
      'sharding.createSupportingIndexes was false, and is true here',
    ]);
  });

  it('quotes no more than fits into a sentence', () => {
    const long = {
      ...body,
      includeNamespaces: Array.from({ length: 256 }, (_, n) => ({ database: `db${n}` })),
    };
    const [difference = ''] = differencesOf(body, long);
    assert.match(difference, /^includeNamespaces was .*…, and is not given here$/);
    assert.ok(difference.length < 300);
  });
});
