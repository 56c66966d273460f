import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  NamespaceFilter,
  type NamespaceFilterEntries,
  type NamespaceFilterEntry,
} from './namespace-filter.ts';

/** Stands in for the server's regular expressions, for those that are the same in JavaScript. */
const matches = async (
  { pattern, options }: { pattern: string; options?: string },
  name: string,
): Promise<boolean> => await Promise.resolve(new RegExp(pattern, options).test(name));

describe('NamespaceFilter', () => {
  const cases: [string, NamespaceFilterEntries, string[], string[]][] = [
    [
      'nothing given',
      {},
      ['a.b', 'shop.orders'],
      ['admin.x', 'local.x', 'config.x', 'a.system.views', 'clustersync_internal.sync'],
    ],
    ['a database', { includeNamespaces: [{ database: 'a' }] }, ['a.b', 'a.c.d'], ['b.a', 'aa.b']],
    [
      'a database and collections',
      { includeNamespaces: [{ database: 'a', collections: ['x', 'y'] }] },
      ['a.x', 'a.y'],
      ['a.z', 'b.x'],
    ],
    [
      'several entries',
      { includeNamespaces: [{ database: 'a', collections: ['x'] }, { database: 'b' }] },
      ['a.x', 'b.q'],
      ['a.q', 'c.x'],
    ],
    [
      'patterns, not anchored',
      {
        includeNamespaces: [
          { databaseRegex: { pattern: 'or' }, collectionsRegex: { pattern: '^T', options: 'i' } },
        ],
      },
      ['orders.t1', 'floor.T'],
      ['orders.at', 'x.t'],
    ],
    ['exclusion alone', { excludeNamespaces: [{ database: 'a' }] }, ['b.x'], ['a.x']],
    [
      'exclusion after inclusion',
      {
        includeNamespaces: [{ database: 'a' }],
        excludeNamespaces: [{ database: 'a', collections: ['x'] }],
      },
      ['a.y'],
      ['a.x', 'b.y'],
    ],
    ["the server's own named", { includeNamespaces: [{ database: 'admin' }] }, [], ['admin.x']],
  ];
  for (const [what, entries, selected, left] of cases) {
    it(`with ${what}`, async () => {
      const filter = new NamespaceFilter(entries, matches);
      const split = (text: string): { db: string; coll: string } => {
        const dot = text.indexOf('.');
        return { db: text.slice(0, dot), coll: text.slice(dot + 1) };
      };
      for (const text of selected) assert.equal(await filter.selects(split(text)), true, text);
      for (const text of left) assert.equal(await filter.selects(split(text)), false, text);
    });
  }

  // Few of them, so that entries and namespaces match.
  const name = fc.constantFrom('a', 'b', 'ab', 'admin', 'local', 'config', 'system.views', 'A');
  const pattern = fc.constantFrom<{ pattern: string; options?: string }>(
    { pattern: 'a' },
    { pattern: '^b$' },
    { pattern: 'A', options: 'i' },
  );
  const entry: fc.Arbitrary<NamespaceFilterEntry> = fc.oneof(
    fc.record({ database: name }),
    fc.record({ databaseRegex: pattern }),
    fc.record({ database: name, collections: fc.array(name, { minLength: 1, maxLength: 3 }) }),
    fc.record({ databaseRegex: pattern, collectionsRegex: pattern }),
  );
  const entries = fc.array(entry, { maxLength: 4 });
  const namespace = fc.record({ db: name, coll: name });

  it('selects what is included and not excluded, whatever the order, and nothing of the server', async () => {
    const selects = async (given: NamespaceFilterEntries, one: { db: string; coll: string }) =>
      await new NamespaceFilter(given, matches).selects(one);
    await fc.assert(
      fc.asyncProperty(entries, entries, namespace, async (included, excluded, one) => {
        const selected = await selects(
          { includeNamespaces: included, excludeNamespaces: excluded },
          one,
        );
        const isIncluded = await selects({ includeNamespaces: included }, one);
        assert.equal(
          selected,
          isIncluded && !(await selects({ includeNamespaces: excluded }, one)),
        );
        const reversed = { includeNamespaces: included.toReversed() };
        assert.equal(await selects(reversed, one), isIncluded);
        const isServers = ['admin', 'local', 'config'].includes(one.db);
        if (isServers || one.coll.startsWith('system.')) assert.equal(selected, false);
        if (!isServers && isIncluded) assert.ok(included.length > 0);
      }),
    );
  });
});
