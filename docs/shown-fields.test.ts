import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { readPage } from './site/markdown.ts';
import { checkout, markdownFiles } from './site/sources.ts';

/** As far as fields are looked up in it. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
}

interface Definition {
  readonly spec: {
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

const kinds = ['clustersync', 'syncverification'] as const;

async function schemaOf(kind: (typeof kinds)[number]): Promise<Schema> {
  const text = await readFile(new URL(`crds/${kind}s.yaml`, checkout), 'utf8');
  const [version] = (parse(text) as Definition).spec.versions;
  assert.ok(version);
  return version.schema.openAPIV3Schema;
}

/** Whether there is a field; what a program reports is not part of a schema. */
function hasField(schema: Schema, path: readonly string[]): boolean {
  const [name, ...rest] = path;
  if (name === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true) return true;
  const within = schema.items ? hasField(schema.items, path) : false;
  const field = schema.properties?.[name];
  return within || (field !== undefined && hasField(field, rest));
}

/** The paths of the fields that a value sets. */
function pathsOf(value: unknown): string[][] {
  if (Array.isArray(value)) return value.flatMap(pathsOf);
  if (typeof value !== 'object' || value === null) return [[]];
  return Object.entries(value).flatMap(([name, field]) =>
    pathsOf(field).map((path) => [name, ...path]),
  );
}

/** The fields of a resource that a command sets, reads or waits for. */
function fieldsIn(command: string): string[][] {
  const patches = [...command.matchAll(/--patch '([^']*)'/g)].flatMap(([, patch = '']) =>
    pathsOf(JSON.parse(patch)),
  );
  const read = [...command.matchAll(/jsonpath='\{\.([^}]*)\}'/g)].map(([, path = '']) =>
    path.replaceAll(/\[[^\]]*\]/g, '').split('.'),
  );
  return [...patches, ...read];
}

describe('the fields that the documentation shows in commands', () => {
  it('are in the definitions of the resources', async () => {
    const schemas = await Promise.all(kinds.map(schemaOf));
    const wrong: string[] = [];
    let count = 0;
    for (const file of await markdownFiles()) {
      const { codeBlocks } = readPage(await readFile(new URL(file, checkout), 'utf8'));
      for (const { text } of codeBlocks.filter(({ language }) => language === 'sh')) {
        for (const command of text.split(/\n(?=kubectl )/)) {
          const [, named] = /^kubectl \w+ (clustersync|syncverification)s?[ /]/.exec(command) ?? [];
          const schema = schemas[kinds.findIndex((kind) => kind === named)];
          if (!schema) continue;
          for (const path of fieldsIn(command)) {
            count++;
            if (!hasField(schema, path)) wrong.push(`${file}: ${path.join('.')}`);
          }
        }
      }
    }
    assert.deepEqual(wrong, []);
    assert.ok(count > 20, String(count));
  });

  it('are found by their paths', async () => {
    const schema = await schemaOf('clustersync');
    const found = (command: string): boolean[] =>
      fieldsIn(command).map((path) => hasField(schema, path));
    assert.deepEqual(found(`--patch '{"spec": {"state": "Paused", "stat": 1}}'`), [true, false]);
    assert.deepEqual(found(`--patch '{"spec": {"commit": null}}'`), [true]);
    assert.deepEqual(found(`--patch '{"spec": {"commit": {"workloads": [{"nam": "a"}]}}}'`), [
      false,
    ]);
    assert.deepEqual(found(`--output=jsonpath='{.status.instances[*].progress.any}'`), [true]);
    assert.deepEqual(found(`--output=jsonpath='{.status.instances[*].progres}'`), [false]);
  });
});
