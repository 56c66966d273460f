import assert from 'node:assert/strict';
import schema from '../../sync-api/start-body.schema.json' with { type: 'json' };
import { filterOf } from '../../verifier/passes/scope.ts';

function take(entries: readonly unknown[]): unknown {
  const includeNamespaces = JSON.stringify(entries);
  return filterOf({ verifyAll: false, includeNamespaces, excludeNamespaces: undefined });
}

const { namespaceFilterEntry: entry, pattern } = schema.definitions;
const { database, collections } = entry.properties;
const longest = 'x'.repeat(database.maxLength);

describe('the filter of a verifier', () => {
  for (const entries of [
    [{ database: longest }],
    [{ database: 'shop', collections: ['a.b', '$a', 'x'.repeat(collections.items.maxLength)] }],
    [{ databaseRegex: { pattern: 'x'.repeat(pattern.properties.pattern.maxLength) } }],
    [{ databaseRegex: { pattern: '^s', options: 'imsx' }, collectionsRegex: { pattern: 'a' } }],
    Array.from({ length: schema.properties.includeNamespaces.maxItems }, () => ({ database: 'a' })),
  ])
    it(`is taken as the syncer takes it: ${JSON.stringify(entries).slice(0, 60)}`, () => {
      assert.deepEqual(take(entries), { includeNamespaces: entries, excludeNamespaces: null });
    });

  for (const name of ['', 'a\0b', 'a.b', 'a b', 'a/b', 'a\\b', 'a"b', '$a', `${longest}x`])
    it(`is refused with a database that cannot be: ${JSON.stringify(name)}`, () => {
      assert.throws(() => take([{ database: name }]), { name: 'InvalidOption' });
    });

  for (const names of [[], [''], ['a\0b'], ['x'.repeat(256)], Array(1_025).fill('a')])
    it(`is refused with collections that cannot be: ${JSON.stringify(names).slice(0, 60)}`, () => {
      const entries = [{ database: 'shop', collections: names }];
      assert.throws(() => take(entries), { name: 'InvalidOption' });
    });

  for (const wrong of [
    ...[{ pattern: '' }, { pattern: 'a\0b' }, { pattern: 'x'.repeat(1_025) }],
    ...[
      { pattern: 'a', options: 'u' },
      { pattern: 'a', options: 'i\0' },
    ],
  ])
    it(`is refused with the pattern ${JSON.stringify(wrong).slice(0, 60)}`, () => {
      for (const field of ['databaseRegex', 'collectionsRegex'])
        assert.throws(() => take([{ databaseRegex: { pattern: 'a' }, [field]: wrong }]), {
          name: 'InvalidOption',
        });
    });

  it('is refused with more entries than a sync has, in an error of bounded length', () => {
    assert.throws(() => take(Array(257).fill({ database: 'a' })), { name: 'InvalidOption' });
    assert.throws(
      () => take([{ database: 'x'.repeat(1_000_000) }]),
      ({ message }: Error) => message.length < 200,
    );
  });
});
