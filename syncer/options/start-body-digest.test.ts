import assert from 'node:assert/strict';
import { differencesOf, optionsDigest } from '../../sync-api/options-digest.ts';
import { startDefaults } from '../../sync-api/start-options.ts';
import { defaultOptions, otherStarts } from '../../sync-api/testing/start-examples.ts';
import schema from '../../sync-api/start-body.schema.json' with { type: 'json' };
import { parseStart, parseStartBody } from './command-bodies.ts';

const clusters = { source: 'cluster0', destination: 'cluster1' };

describe('the digest of a start body', () => {
  /** Two bodies that differ only in this property. */
  const changes: Record<string, readonly [object, object]> = {
    ...otherStarts,
    source: [{}, { source: 'cluster1' }],
    destination: [{}, { destination: 'cluster0' }],
    verification: [{}, { verification: { enabled: false } }],
    'verification.enabled': [
      { verification: { enabled: false } },
      { verification: { enabled: true } },
    ],
  };

  it('is covered below for every property that the schema has', () => {
    const identifying = propertiesOf(schema).filter((path) => !path.startsWith('limits'));
    assert.deepEqual(Object.keys(changes).sort(), identifying.sort());
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

  it('does not depend on the limits, which change while the sync runs', () => {
    const limited = { ...clusters, limits: { maxChangesPerSecond: 7 } };
    assert.equal(optionsDigest(limited), optionsDigest(clusters));
    assert.deepEqual(differencesOf(limited, clusters), []);
    assert.deepEqual(parseStart(limited), { ...parseStart(clusters), limits: limited.limits });
  });

  it('takes for defaults what has been one: another would make another sync of each that has begun', () => {
    assert.deepEqual(startDefaults, {
      ...defaultOptions,
      sharding: { createSupportingIndexes: false },
    });
    const options = { ...clusters, ...otherStarts.sharding[1] };
    assert.equal(optionsDigest(parseStartBody(options)), optionsDigest(options));
  });
});

interface Node {
  readonly type?: unknown;
  readonly $ref?: string;
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

function resolved(node: Node): Node {
  const name = node.$ref?.replace('#/definitions/', '');
  if (name === undefined) return node;
  const found = Object.entries<Node>(schema.definitions).find(([each]) => each === name);
  assert.ok(found, name);
  return found[1];
}
