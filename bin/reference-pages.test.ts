import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { chartSchema, chartValues } from '../docs/chart-values.ts';
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
  const definitions = JSON.stringify({ definitions: { peer: { type: 'object' } } });

  it('takes the comment above a value for its description, in maps, too', () => {
    const text =
      '# Head.\n\nimage:\n  # Its name,\n  # in full.\n  name: a\n  # Its tag.\n  # @schema { enum: [b, c] }\n  tag: b\n';
    assert.deepEqual(chartValues(text, definitions), [
      { path: 'image.name', type: 'string', default: 'a', description: 'Its name, in full.' },
      { path: 'image.tag', type: '`b`, `c`', default: 'b', description: 'Its tag.' },
    ]);
  });

  it('refuses a value that nobody has described, and a list of anything', () => {
    const values = (text: string) => () => chartValues(text, definitions);
    assert.throws(values('# Head.\n\nsize: 1\n'), /size has no comment/);
    assert.throws(values('# H.\n\na:\n  # Peers.\n  peers: []\n'), /a\.peers needs @schema/);
    const unknown = "# H.\n\n# X.\n# @schema { $ref: '#/definitions/other' }\nx: []\n";
    assert.throws(values(unknown), /other leads nowhere/);
  });

  it('are what the schema allows, and nothing else', () => {
    const text = [
      ...['# Head.', '', '# Size.', '# @schema { type: integer, minimum: 1 }', 'size: 3'],
      ...[
        '# Peers.',
        "# @schema { type: array, items: { $ref: '#/definitions/peer' } }",
        'peers: []',
      ],
      ...['group:', '  # Labels.', '  labels: {}', '  # Whether.', '  enabled: true'],
    ].join('\n');
    const former = JSON.stringify({ ...JSON.parse(definitions), properties: { gone: {} } });
    assert.deepEqual(chartSchema(text, former), {
      definitions: { peer: { type: 'object' } },
      properties: {
        global: { type: 'object' },
        size: { type: 'integer', minimum: 1 },
        peers: { type: 'array', items: { $ref: '#/definitions/peer' } },
        group: {
          ...{ type: 'object', additionalProperties: false },
          properties: {
            labels: { type: 'object', additionalProperties: { type: 'string' } },
            enabled: { type: 'boolean' },
          },
        },
      },
    });
  });
});
