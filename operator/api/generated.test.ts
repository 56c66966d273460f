import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { DefinitionFile, schemaAt, type Definition } from '../../crds/definition.ts';
import { generatedFiles } from '../../crds/generate.ts';
import { rulesOf, type SchemaNode } from '../../crds/json-schema.ts';
import { putStartOptions, startOptionProperties } from '../../crds/start-options.ts';

const root = new URL('../../', import.meta.url);

describe('what is generated from crds/', function () {
  // On a busy machine it takes longer to load the generators.
  this.timeout(60_000);

  it('is what `npm run generate` makes', async () => {
    for (const [path, expected] of await generatedFiles()) {
      const actual = await readFile(new URL(path, root), 'utf8');
      assert.equal(actual, expected, `${path} is out of date: npm run generate`);
    }
  });

  it('describes every field', async () => {
    for (const plural of ['clustersyncs', 'syncverifications']) {
      const text = await readFile(new URL(`crds/${plural}.yaml`, root), 'utf8');
      const { spec } = parse(text) as Definition;
      assert.deepEqual(undescribed(spec.versions[0].schema.openAPIV3Schema, plural), []);
    }
  });
});

describe('startOptionProperties', () => {
  const body = (property: SchemaNode): SchemaNode => ({ properties: { option: property } });

  it('leaves out what the operator fills in itself', () => {
    const { source, option } = startOptionProperties({
      properties: { source: { type: 'string' }, option: { type: 'string' } },
    });
    assert.equal(source, undefined);
    assert.deepEqual(option, { type: 'string' });
  });

  it('makes what has a default immutable', () => {
    const { option } = startOptionProperties(body({ type: 'boolean', default: false }));
    assert.deepEqual(option?.['x-kubernetes-validations'], [
      {
        rule: 'self == oldSelf',
        message:
          'option cannot be changed; delete the ClusterSync, with spec.onDelete: Clean to drop what it has copied, and create another one',
      },
    ]);
  });

  it('says by CEL which properties go together', () => {
    const { option } = startOptionProperties(
      body({
        type: 'object',
        allOf: [
          { oneOf: [{ required: ['a'] }, { required: ['b'] }] },
          { not: { required: ['c', 'd'] } },
        ],
      }),
    );
    assert.deepEqual(option?.['x-kubernetes-validations'], [
      { rule: 'has(self.a) != has(self.b)', message: 'set exactly one of a and b' },
      { rule: '!(has(self.c) && has(self.d))', message: 'set at most one of c and d' },
    ]);
  });

  it('refuses what it would lose', () => {
    assert.throws(() => startOptionProperties(body({ const: 1 })), /const is not translated/);
    assert.throws(() => startOptionProperties(body({ $ref: '#/x' })), /leads nowhere/);
    assert.throws(() => startOptionProperties(body({ type: ['null', 'string'] })), /union/);
    assert.throws(
      () => startOptionProperties(body({ allOf: [{ required: ['a'] }] })),
      /not translated/,
    );
  });
});

describe('putStartOptions', () => {
  const read = async (path: string): Promise<string> => await readFile(new URL(path, root), 'utf8');

  /** The definition of ClusterSyncs with one more option, before the last one of the body. */
  async function withOption(node: SchemaNode): Promise<string> {
    const syncs = new DefinitionFile(await read('crds/clustersyncs.yaml'));
    const body = JSON.parse(await read('sync-api/start-body.schema.json')) as SchemaNode;
    const { sharding = {}, ...others } = body.properties ?? {};
    putStartOptions(syncs, { ...body, properties: { ...others, added: node, sharding } });
    return syncs.toString();
  }

  for (const [what, node, rules] of [
    ['without a default', { type: 'string', description: 'x' }, 1],
    ['with a default', { type: 'string', description: 'x', default: 'a' }, 0],
  ] as const) {
    it(`adds an option ${what} in its place, which cannot be changed`, async () => {
      const former = new DefinitionFile(await read('crds/clustersyncs.yaml')).definition;
      const next = new DefinitionFile(await withOption(node)).definition;
      const namesOf = (of: Definition) => Object.keys(schemaAt(of, 'spec').properties ?? {});
      assert.deepEqual(
        namesOf(next),
        namesOf(former).flatMap((name) => (name === 'sharding' ? ['added', name] : [name])),
      );
      const added = rulesOf(schemaAt(next, 'spec')).slice(rulesOf(schemaAt(former, 'spec')).length);
      assert.equal(added.length, rules);
      const [rule] = [...added, ...rulesOf(schemaAt(next, 'spec', 'added'))];
      assert.match(rule?.message ?? '', /^added cannot be changed; /);
      assert.match(rule?.rule ?? '', rules === 1 ? /^has\(self\.added\) == / : /^self == oldSelf$/);
    });
  }

  it('adds nothing twice, and only where the option before it is', async () => {
    const once = await withOption({ type: 'string', description: 'x' });
    const again = new DefinitionFile(once);
    putStartOptions(again, { properties: { added: { type: 'string', description: 'x' } } });
    assert.equal(again.toString(), once);
    assert.throws(() => {
      again.setSchema(['properties', 'spec', 'properties', 'other'], {}, 'nowhere');
    }, /the schema has no properties\.spec\.properties\.other/);
  });
});

function undescribed(node: SchemaNode, path: string): string[] {
  const children: readonly (readonly [string, SchemaNode])[] = [
    ...Object.entries(node.properties ?? {}).map(
      ([name, child]) => [`${path}.${name}`, child] as const,
    ),
    ...(node.items?.properties
      ? Object.entries(node.items.properties).map(
          ([name, child]) => [`${path}[].${name}`, child] as const,
        )
      : []),
  ];
  return children.flatMap(([name, child]) => [
    ...(child.description === undefined ? [name] : []),
    ...undescribed(child, name),
  ]);
}
