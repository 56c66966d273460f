import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('decisions/', import.meta.url);

/** A record is read as a whole: what is longer belongs to the architecture, and figures to bench/results. */
const mostWords = 299;

describe('docs/decisions', () => {
  const contents = readFileSync(new URL('README.md', folder), 'utf8');
  const records = readdirSync(folder)
    .filter((name) => name !== 'README.md')
    .sort();

  it('has its records numbered without a gap', () => {
    assert.ok(records.length >= 40);
    const numbers = records.map((name) => Number(name.slice(0, 4)));
    assert.deepEqual(
      numbers,
      records.map((_, index) => index + 1),
    );
  });

  for (const name of records) {
    const text = readFileSync(new URL(name, folder), 'utf8');

    it(`${name} has fewer than 300 words`, () => {
      const words = text.split(/\s+/).filter((word) => /\w/.test(word));
      assert.ok(words.length <= mostWords, `${words.length} words`);
    });

    it(`${name} has its number and title in the contents`, () => {
      const [, number, title] = /^# (\d+)\. (.+)\n/.exec(text) ?? [];
      assert.equal(Number(name.slice(0, 4)), Number(number));
      assert.ok(contents.includes(`\n${number}. [${title}](${name})\n`), `${number}. ${title}`);
    });
  }
});
