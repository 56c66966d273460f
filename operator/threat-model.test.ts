import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);

describe('docs/threat-model.md', () => {
  it('names a test for everything that is done, and all of them are there', () => {
    const text = readFileSync(new URL('docs/threat-model.md', root), 'utf8');
    const rows = text.split('\n').filter((line) => /^\| (?!What somebody|-)/.test(line));
    assert.ok(rows.length > 8);
    for (const row of rows) {
      const files = [...row.matchAll(/`([a-z0-9/-]+(?:\.\w+)*\.ts)`/g)].map(
        ([, file = '']) => file,
      );
      assert.ok(files.length > 0, row);
      for (const file of files) assert.ok(existsSync(new URL(file, root)), file);
    }
  });
});
