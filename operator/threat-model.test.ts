import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);

/** A test as a row names it: its file, and its title as it is when it runs. */
const namedTest = /`([a-z0-9/-]+(?:\.\w+)*\.ts)`: _([^_]+)_/g;

/** The titles of a file, as expressions: what is filled in is anything. */
function titlesOf(text: string): RegExp[] {
  const literals = text.matchAll(/\bit\(\s*(?:'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`)/g);
  return Array.from(literals, ([, plain, template = '']) => {
    const parts = plain === undefined ? template.split(/\$\{(?:[^{}]|\{[^{}]*\})*\}/) : [plain];
    return new RegExp(`^${parts.map((part) => escaped(part)).join('.+')}$`);
  });
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

describe('docs/threat-model.md', () => {
  it('names the tests that show what is done, by their titles, and all of them are there', () => {
    const text = readFileSync(new URL('docs/threat-model.md', root), 'utf8');
    const rows = text.split('\n').filter((line) => /^\| (?!What somebody|-)/.test(line));
    assert.ok(rows.length > 12);
    for (const row of rows) {
      const named = [...row.matchAll(namedTest)];
      assert.ok(named.length > 0, row);
      assert.equal(named.length, row.split('.ts`').length - 1, row);
      for (const [, file = '', title = ''] of named) {
        assert.ok(existsSync(new URL(file, root)), file);
        const titles = titlesOf(readFileSync(new URL(file, root), 'utf8'));
        assert.ok(
          titles.some((each) => each.test(title)),
          `${file} has no test "${title}"`,
        );
      }
    }
  });
});
