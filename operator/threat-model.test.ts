import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);

/** A test as a row names it: its file, and its title as it is when it runs. */
const namedTest = /`([a-z0-9/-]+(?:\.\w+)*\.ts)`: _([^_]+)_/g;

/** The titles in a file, as regular expressions: each interpolated part is a group. */
function titlesOf(text: string): RegExp[] {
  const literals = text.matchAll(/\bit\(\s*(?:'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`)/g);
  return Array.from(literals, ([, plain, template = '']) => {
    const parts = plain === undefined ? template.split(/\$\{(?:[^{}]|\{[^{}]*\})*\}/) : [plain];
    return new RegExp(`^${parts.map((part) => escaped(part)).join('(.+)')}$`);
  });
}

/** Whether a file has a test of this title: interpolated parts must occur in the file, or in one that it imports. */
function hasTest(file: URL, title: string): boolean {
  const text = readFileSync(file, 'utf8');
  const imported = Array.from(text.matchAll(/ from '(\.\/[^']+)'/g), ([, path = '']) =>
    readFileSync(new URL(path, file), 'utf8'),
  );
  const around = [text, ...imported].join('\n');
  return titlesOf(text).some((each) => {
    const filledIn = each.exec(title)?.slice(1);
    return filledIn?.every((part) => part.split(' ').every((word) => around.includes(word)));
  });
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

describe('docs/threat-model.md', () => {
  it('names the tests that show what is done, by their titles, and all of them are there', () => {
    const text = readFileSync(new URL('docs/threat-model.md', root), 'utf8');
    const rows = text.split('\n').filter((line) => /^\| (?!Attack|-)/.test(line));
    assert.ok(rows.length > 12);
    for (const row of rows) {
      const named = [...row.matchAll(namedTest)];
      assert.ok(named.length > 0, row);
      assert.equal(named.length, row.split('.ts`').length - 1, row);
      for (const [, file = '', title = ''] of named) {
        assert.ok(existsSync(new URL(file, root)), file);
        assert.ok(hasTest(new URL(file, root), title), `${file} has no test "${title}"`);
      }
    }
  });

  it('misses a title that no test has, also where only what it is filled in with is other', () => {
    const growth = new URL('e2e/attack/growth.test.ts', root);
    assert.ok(hasTest(growth, 'takes time in proportion to its length: redact'));
    assert.ok(!hasTest(growth, 'takes time in proportion to its length: rewriteEverything'));
    assert.ok(!hasTest(growth, 'takes no time: redact'));
    assert.ok(!hasTest(growth, 'takes time in proportion'));
  });
});
