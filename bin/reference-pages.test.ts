import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { generatedPages } from '../docs/generate.ts';

describe('the reference pages', () => {
  it('are what `npm run generate` makes', async () => {
    for (const [path, expected] of await generatedPages()) {
      const actual = await readFile(new URL(`../${path}`, import.meta.url), 'utf8');
      assert.equal(actual, expected, `${path} is out of date: npm run generate`);
    }
  });
});
