import assert from 'node:assert/strict';
import { parseNamespaces } from './start-body.ts';

describe('parseNamespaces', () => {
  const cases: readonly (readonly [string, readonly object[]])[] = [
    ['shop', [{ database: 'shop' }]],
    [
      ' shop , depot.orders ',
      [{ database: 'shop' }, { database: 'depot', collections: ['orders'] }],
    ],
    ['a.b,a.c.d', [{ database: 'a', collections: ['b', 'c.d'] }]],
    ['a.b,a', [{ database: 'a' }]],
    ['a,a.b', [{ database: 'a' }]],
    ['[{"databaseRegex": {"pattern": "^s"}}]', [{ databaseRegex: { pattern: '^s' } }]],
  ];
  for (const [text, entries] of cases) {
    it(`reads ${text}`, () => {
      assert.deepEqual(parseNamespaces('include-namespaces', text), entries);
    });
  }

  for (const text of ['', 'a,,b', 'a.', '.b', '[{']) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseNamespaces('include-namespaces', text), {
        name: 'InvalidOption',
        message: /^--include-namespaces: /,
      });
    });
  }
});
