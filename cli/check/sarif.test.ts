import assert from 'node:assert/strict';
import { Ajv } from 'ajv';
import type { CheckFinding } from '../../sync-api/json.ts';
import { sarifLog } from './sarif.ts';

const text = { type: 'string', minLength: 1 } as const;
const only = { type: 'object', additionalProperties: false } as const;

/**
 * What the schema of SARIF 2.1.0 requires of the objects that are used here, and which fields of theirs are used: the published schema
 * allows more fields, and no others.
 */
const schema = {
  ...only,
  required: ['version', 'runs'],
  properties: {
    $schema: text,
    version: { enum: ['2.1.0'] },
    runs: {
      type: 'array',
      items: {
        ...only,
        required: ['tool', 'results', 'invocations'],
        properties: {
          tool: {
            ...only,
            required: ['driver'],
            properties: {
              driver: {
                ...only,
                required: ['name'],
                properties: {
                  name: text,
                  rules: {
                    type: 'array',
                    uniqueItems: true,
                    items: { ...only, required: ['id'], properties: { id: text } },
                  },
                },
              },
            },
          },
          invocations: {
            type: 'array',
            items: {
              ...only,
              required: ['executionSuccessful'],
              properties: { executionSuccessful: { type: 'boolean' } },
            },
          },
          results: {
            type: 'array',
            items: {
              ...only,
              required: ['message'],
              properties: {
                ruleId: text,
                ruleIndex: { type: 'integer', minimum: -1 },
                level: { enum: ['none', 'note', 'warning', 'error'] },
                message: { ...only, required: ['text'], properties: { text } },
                locations: {
                  type: 'array',
                  items: {
                    ...only,
                    properties: {
                      logicalLocations: {
                        type: 'array',
                        uniqueItems: true,
                        items: { ...only, properties: { fullyQualifiedName: text } },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
  },
};

const validate = new Ajv({ allErrors: true }).compile(schema);

const findings: readonly CheckFinding[] = [
  {
    severity: 'blocker',
    name: 'DestinationNotEmpty',
    side: 'destination',
    namespaces: ['shop.a', 'shop.b'],
    message: 'it has data',
    action: 'Drop it.',
  },
  { severity: 'warning', name: 'OplogTooShort', side: 'source', message: 'short', action: 'Do.' },
  { severity: 'advice', name: 'NotChecked', message: 'one', action: 'Do.' },
  { severity: 'advice', name: 'NotChecked', message: 'two', action: 'Do.' },
];

describe('sarifLog', () => {
  it('has what the schema of SARIF 2.1.0 requires, with findings and without', () => {
    for (const each of [findings, []]) {
      assert.ok(validate(sarifLog(each)), JSON.stringify(validate.errors));
    }
  });

  it('has a result for each finding, with its level, its rule, what to do, and where', () => {
    const { runs } = sarifLog(findings) as {
      readonly runs: readonly [
        {
          readonly tool: { readonly driver: { readonly rules: readonly { id: string }[] } };
          readonly results: readonly Record<string, unknown>[];
        },
      ];
    };
    const [{ tool, results }] = runs;
    const ids = tool.driver.rules.map(({ id }) => id);
    assert.deepEqual(ids, ['DestinationNotEmpty', 'OplogTooShort', 'NotChecked']);
    assert.deepEqual(
      results.map(({ level, ruleIndex, ruleId }) => [level, ids[Number(ruleIndex)] === ruleId]),
      [
        ['error', true],
        ['warning', true],
        ['note', true],
        ['note', true],
      ],
    );
    assert.deepEqual(results[0]?.['message'], { text: 'it has data\nDrop it.' });
    const names = ['destination/shop.a', 'destination/shop.b'];
    const logicalLocations = names.map((fullyQualifiedName) => ({ fullyQualifiedName }));
    assert.deepEqual(results[0]['locations'], [{ logicalLocations }]);
    assert.deepEqual(results[1]?.['locations'], [
      { logicalLocations: [{ fullyQualifiedName: 'source' }] },
    ]);
    assert.equal(results[2]?.['locations'], undefined);
  });
});
