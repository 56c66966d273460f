import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { ServedDefinition } from './compatibility.ts';
import type { SchemaNode } from './json-schema.ts';

/** The fields below a schema that name Secrets or ConfigMaps, by their paths. */
function secretFields(node: SchemaNode, path: string): (readonly [string, SchemaNode])[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, field]) => {
    const here = `${path}.${name}`;
    const isReference = /secret|configMap/i.test(name);
    return [...(isReference ? [[here, field] as const] : []), ...secretFields(field, here)];
  });
}

describe('the custom resources', () => {
  for (const plural of ['clustersyncs', 'syncverifications']) {
    it(`${plural}: name Secrets of their own namespace alone`, () => {
      const text = readFileSync(new URL(`${plural}.yaml`, import.meta.url), 'utf8');
      const { spec } = parse(text) as ServedDefinition;
      const fields = spec.versions.flatMap(({ schema }) =>
        secretFields(schema.openAPIV3Schema, plural),
      );
      assert.ok(fields.length > 0);
      for (const [path, field] of fields) {
        const of = field.items ?? field;
        const names = Object.keys(of.properties ?? {});
        assert.ok(names.includes('name') || of.type === 'string', path);
        assert.deepEqual(
          names.filter((name) => !['name', 'key'].includes(name)),
          [],
          path,
        );
      }
    });
  }
});
