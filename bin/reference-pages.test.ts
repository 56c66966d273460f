import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { chartValues } from '../docs/chart-values.ts';
import { generatedPages } from '../docs/generate.ts';

describe('the reference pages', function () {
  // Formats some thirty files, which takes long on a busy machine.
  this.timeout(60_000);

  it('are what `npm run generate` makes', async () => {
    for (const [path, expected] of await generatedPages()) {
      const actual = await readFile(new URL(`../${path}`, import.meta.url), 'utf8');
      assert.equal(actual, expected, `${path} is out of date: npm run generate`);
    }
  });
});

describe('chartValues', () => {
  const schema = (properties: object): string => JSON.stringify({ properties });
  const size = { size: { type: 'integer' } };

  it('takes the comment above a value for its description, in maps, too', () => {
    const text =
      '# Head.\n\nimage:\n  # Its name,\n  # in full.\n  name: a\n  # Its tag.\n  tag: b\n';
    const properties = { name: { type: 'string' }, tag: { enum: ['b', 'c'] } };
    assert.deepEqual(chartValues(text, schema({ image: { properties } })), [
      { path: 'image.name', type: 'string', default: 'a', description: 'Its name, in full.' },
      { path: 'image.tag', type: '`b`, `c`', default: 'b', description: 'Its tag.' },
    ]);
  });

  it('refuses a value that one of the two files lacks, or that nobody has described', () => {
    assert.throws(() => chartValues('# Head.\n\nsize: 1\n', schema(size)), /size has no comment/);
    assert.throws(() => chartValues('# Size.\nsize: 1\n', schema({})), /schema.json lacks size/);
    const more = schema({ ...size, more: { type: 'string' } });
    assert.throws(() => chartValues('# H.\n\n# Size.\nsize: 1\n', more), /values.yaml lacks more/);
  });
});
