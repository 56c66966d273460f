import assert from 'node:assert/strict';
import { FilterSelection, selectionText } from './filter-selection.ts';
import { NamespaceFilter } from './namespace-filter.ts';

describe('FilterSelection', () => {
  it('tells what each entry means, also of namespaces that another one leaves out', async () => {
    const filter = new NamespaceFilter(
      {
        includeNamespaces: [
          { database: 'shop' },
          { database: 'shop', collectionsRegex: { pattern: '^o' } },
          { database: 'sohp' },
        ],
        excludeNamespaces: [{ databaseRegex: { pattern: 'o' }, collections: ['c6', 'orders'] }],
      },
      async ({ pattern }, name) => await Promise.resolve(new RegExp(pattern).test(name)),
    );
    const selection = new FilterSelection(filter);
    const names = ['orders', ...Array.from({ length: 7 }, (_, number) => `c${number}`)];
    for (const coll of [...names, 'system.views']) await selection.add({ db: 'shop', coll });
    for (const db of ['hr', 'local']) await selection.add({ db, coll: 'orders' });
    assert.deepEqual(selection.entries().map(selectionText), [
      'includeNamespaces[0] means shop.c0, shop.c1, shop.c2, shop.c3, shop.c4 and 3 more',
      'includeNamespaces[1] means shop.orders',
      'includeNamespaces[2] matches nothing',
      'excludeNamespaces[0] means shop.c6, shop.orders',
    ]);
  });

  it('tells nothing without a filter', async () => {
    const selection = new FilterSelection(
      new NamespaceFilter({}, async () => await Promise.reject(new Error('nothing is asked'))),
    );
    await selection.add({ db: 'shop', coll: 'orders' });
    assert.deepEqual(selection.entries(), []);
  });
});
