import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { errorTable, type ErrorRow } from './error-table.ts';

const rows = Object.entries<ErrorRow>(errorTable);
const pageUrl = new URL('../docs/reference/errors.md', import.meta.url);

describe('errorTable', () => {
  it('has names and reasons that are CamelCase words, as Kubernetes asks of a reason', () => {
    for (const [name, { reason }] of rows) {
      assert.match(name, /^[A-Z][A-Za-z0-9]*$/);
      assert.match(reason, /^[A-Z][A-Za-z0-9]*$/);
    }
  });

  it('has a status of the 4xx or 5xx for each', () => {
    for (const [name, { status }] of rows) {
      assert.ok(Number.isInteger(status) && status >= 400 && status < 600, name);
    }
  });

  it('tells a person what to do, in sentences', () => {
    for (const [name, { action }] of rows) assert.match(action, /^[A-Z].*\.$/s, name);
  });

  it('is documented: each name once, with its status', async () => {
    const page = await readFile(pageUrl, 'utf8');
    const documented = [...page.matchAll(/^\| `(\w+)` *\| (\d+)/gm)].map(
      ([, name, status]) => `${name} ${status}`,
    );
    assert.deepEqual(
      documented,
      rows.map(([name, { status }]) => `${name} ${status}`),
    );
  });
});
