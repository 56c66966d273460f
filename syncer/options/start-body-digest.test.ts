import assert from 'node:assert/strict';
import { differencesOf, optionsDigest, startDefaults } from '../../service/options-digest.ts';
import schema from './start-body.schema.json' with { type: 'json' };
import { parseStartBody } from './command-bodies.ts';

const clusters = { source: 'cluster0', destination: 'cluster1' };

describe('the digest of a start body', () => {
  const entry = {
    database: 'a',
    collection: 'b',
    shardCollection: { key: [{ x: 1 }] },
  };
  const sharding = (change: object): object => ({
    sharding: { shardingEntries: [{ ...entry, ...change }] },
  });
  const filters = (name: string): Record<string, [object, object]> => {
    const one = (change: object): object => ({ [name]: [{ database: 'a', ...change }] });
    const regex = (field: string, change: object): object => ({
      [name]: [
        {
          ...(field === 'collectionsRegex' && { database: 'a' }),
          [field]: { pattern: 'x', ...change },
        },
      ],
    });
    const path = `${name}[]`;
    return {
      [name]: [{}, one({})],
      [path]: [one({}), { [name]: [{ database: 'a' }, { database: 'b' }] }],
      [`${path}.database`]: [one({}), one({ database: 'b' })],
      [`${path}.databaseRegex`]: [one({}), regex('databaseRegex', {})],
      [`${path}.databaseRegex.pattern`]: [
        regex('databaseRegex', {}),
        regex('databaseRegex', { pattern: 'y' }),
      ],
      [`${path}.databaseRegex.options`]: [
        regex('databaseRegex', {}),
        regex('databaseRegex', { options: 'i' }),
      ],
      [`${path}.collections`]: [one({}), one({ collections: ['b'] })],
      [`${path}.collections[]`]: [one({ collections: ['b'] }), one({ collections: ['c'] })],
      [`${path}.collectionsRegex`]: [one({}), regex('collectionsRegex', {})],
      [`${path}.collectionsRegex.pattern`]: [
        regex('collectionsRegex', {}),
        regex('collectionsRegex', { pattern: 'y' }),
      ],
      [`${path}.collectionsRegex.options`]: [
        regex('collectionsRegex', {}),
        regex('collectionsRegex', { options: 'i' }),
      ],
    };
  };
  const entries = 'sharding.shardingEntries';
  const key = `${entries}[].shardCollection.key`;
  const ofKey = (...parts: object[]): object => sharding({ shardCollection: { key: parts } });
  /** Two bodies that differ only in this property. */
  const changes: Record<string, [object, object]> = {
    source: [{}, { source: 'cluster1' }],
    destination: [{}, { destination: 'cluster0' }],
    buildIndexes: [{}, { buildIndexes: 'never' }],
    enableUserWriteBlocking: [{}, { enableUserWriteBlocking: true }],
    reversible: [
      { enableUserWriteBlocking: true },
      { enableUserWriteBlocking: true, reversible: true },
    ],
    detectDuplicateIds: [{}, { detectDuplicateIds: true }],
    ...filters('includeNamespaces'),
    ...filters('excludeNamespaces'),
    initialData: [{}, { initialData: 'Present' }],
    verification: [{}, { verification: { enabled: false } }],
    'verification.enabled': [
      { verification: { enabled: false } },
      { verification: { enabled: true } },
    ],
    sharding: [{}, { sharding: { shardingEntries: [] } }],
    'sharding.createSupportingIndexes': [
      { sharding: { shardingEntries: [] } },
      { sharding: { shardingEntries: [], createSupportingIndexes: true } },
    ],
    [entries]: [{ sharding: { shardingEntries: [] } }, sharding({})],
    [`${entries}[]`]: [
      sharding({}),
      { sharding: { shardingEntries: [entry, { ...entry, database: 'c' }] } },
    ],
    [`${entries}[].database`]: [sharding({}), sharding({ database: 'c' })],
    [`${entries}[].collection`]: [sharding({}), sharding({ collection: 'c' })],
    [`${entries}[].shardCollection`]: [sharding({}), ofKey({ y: 1 })],
    [key]: [ofKey({ x: 1 }), ofKey({ x: 1 }, { y: 1 })],
    [`${key}[]`]: [ofKey({ x: 1 }), ofKey({ y: 1 })],
    [`${key}[].*`]: [ofKey({ x: 1 }), ofKey({ x: 'hashed' })],
  };

  it('is covered below for every property that the schema has', () => {
    assert.deepEqual(Object.keys(changes).sort(), propertiesOf(schema).sort());
  });

  for (const [property, [one, other]] of Object.entries(changes)) {
    it(`depends on ${property}`, () => {
      const [first, second] = [
        { ...clusters, ...one },
        { ...clusters, ...other },
      ];
      assert.notEqual(optionsDigest(first), optionsDigest(second));
      assert.equal(differencesOf(first, second).length, 1);
      if (['source', 'destination'].includes(property)) return;
      // As it is stored, with the defaults filled in.
      assert.equal(optionsDigest(parseStartBody(first)), optionsDigest(first));
      assert.equal(optionsDigest(parseStartBody(second)), optionsDigest(second));
    });
  }

  it('takes for defaults what the schema fills in', () => {
    assert.deepEqual(startDefaults, defaultsOf(schema));
  });
});

interface Node {
  readonly type?: unknown;
  readonly $ref?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly additionalProperties?: unknown;
}

/** The paths of all properties, and of what lists and maps hold. */
function propertiesOf(node: Node, path = ''): string[] {
  const { properties = {}, items, additionalProperties } = resolved(node);
  const below = (child: Node, childPath: string): string[] => [
    childPath,
    ...propertiesOf(child, childPath),
  ];
  return [
    ...Object.entries(properties).flatMap(([name, child]) =>
      below(child, path === '' ? name : `${path}.${name}`),
    ),
    ...(items ? below(items, `${path}[]`) : []),
    ...(typeof additionalProperties === 'object' ? [`${path}.*`] : []),
  ];
}

function defaultsOf(node: Node): Record<string, unknown> {
  const { properties = {} } = resolved(node);
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, child]) => {
      if (child.default !== undefined) return [[name, child.default]];
      const inner = defaultsOf(child);
      return Object.keys(inner).length > 0 ? [[name, inner]] : [];
    }),
  );
}

function resolved(node: Node): Node {
  const name = node.$ref?.replace('#/definitions/', '');
  if (name === undefined) return node;
  const found = Object.entries<Node>(schema.definitions).find(([each]) => each === name);
  assert.ok(found, name);
  return found[1];
}
