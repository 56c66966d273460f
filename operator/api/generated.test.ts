import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { Definition } from '../../crds/definition.ts';
import { generatedFiles } from '../../crds/generate.ts';
import type { SchemaNode } from '../../crds/json-schema.ts';
import { startOptionProperties } from '../../crds/start-options.ts';

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
