import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { incompatibilities, type ServedDefinition } from './compatibility.ts';
import type { SchemaNode } from './json-schema.ts';

type Version = ServedDefinition['spec']['versions'][number];

function definitionOf(
  field: SchemaNode | undefined,
  more: Partial<Version> = {},
  spec: Partial<ServedDefinition['spec']> = {},
): ServedDefinition {
  const properties = { ...(field && { field }) };
  const openAPIV3Schema = { type: 'object', properties };
  const names = { kind: 'Shop', plural: 'shops', shortNames: ['sh'] };
  const version = { name: 'v1', served: true, schema: { openAPIV3Schema }, ...more };
  return {
    spec: { group: 'example.dev', scope: 'Namespaced', names, versions: [version], ...spec },
  };
}

const text = { type: 'string' };
const map = (values: SchemaNode): SchemaNode => ({ type: 'object', additionalProperties: values });
const object = (properties: Readonly<Record<string, SchemaNode>>, more = {}): SchemaNode => ({
  type: 'object',
  properties,
  ...more,
});
const rule = (cel: string): SchemaNode => ({
  ...text,
  'x-kubernetes-validations': [{ rule: cel, message: cel }],
});

const newRule = (cel: string): SchemaNode => ({
  ...text,
  'x-kubernetes-validations': [{ rule: cel, message: cel, optionalOldSelf: true }],
});

const broken: readonly (readonly [string, SchemaNode, SchemaNode | undefined, string])[] = [
  ['a field is removed', text, undefined, 'v1.field is gone'],
  ['a type is another', text, { type: 'integer' }, 'v1.field: the type is integer, and was string'],
  ['a type is begun', {}, text, 'v1.field: the type is string, and was any'],
  [
    'a type is narrower',
    { type: 'number' },
    { type: 'integer' },
    'v1.field: the type is integer, and was number',
  ],
  [
    'an enum loses a value',
    { enum: ['a', 'b'] },
    { enum: ['b'] },
    'v1.field: a is no longer allowed',
  ],
  [
    'an enum is begun',
    text,
    { ...text, enum: ['a'] },
    'v1.field: only some values are allowed now',
  ],
  [
    'a field becomes required',
    object({ a: text }),
    object({ a: text }, { required: ['a'] }),
    'v1.field: a is required now',
  ],
  ['a lower bound rises', { minimum: 1 }, { minimum: 2 }, 'v1.field: minimum is larger'],
  ['an upper bound is begun', text, { ...text, maxLength: 9 }, 'v1.field: maxLength is smaller'],
  ['a pattern is another', { pattern: 'a+' }, { pattern: 'a' }, 'v1.field: pattern is new'],
  ['a default is another', { default: 1 }, { default: 2 }, 'v1.field: default has changed'],
  ['a default is removed', { default: 1 }, {}, 'v1.field: default has changed'],
  ['null is refused', { nullable: true }, {}, 'v1.field: null is refused'],
  ['a rule is added', text, rule('self != ""'), 'v1.field: a rule is new: self != ""'],
  [
    'a rule is added that knows of former values, and does not let them be',
    text,
    newRule('oldSelf.orValue("") == self'),
    'v1.field: a rule is new: oldSelf.orValue("") == self',
  ],
  [
    'a rule is changed',
    rule('self != ""'),
    rule('self != "a"'),
    'v1.field: a rule is new: self != "a"',
  ],
  [
    'it is so in a list',
    { items: text },
    { items: { type: 'integer' } },
    'v1.field[]: the type is integer, and was string',
  ],
  [
    'it is so in a map',
    map(text),
    map({ ...text, maxLength: 1 }),
    'v1.field.*: maxLength is smaller',
  ],
  [
    'a map takes some names alone',
    map(text),
    object({ a: text }),
    'v1.field: only fields of some names are kept now',
  ],
  [
    'unknown fields are dropped',
    object({}, { 'x-kubernetes-preserve-unknown-fields': true }),
    object({}),
    'v1.field: fields that are not described are dropped now',
  ],
  [
    'a list is merged otherwise',
    { 'x-kubernetes-list-type': 'set' },
    { 'x-kubernetes-list-type': 'atomic' },
    'v1.field: x-kubernetes-list-type has changed',
  ],
];

const kept: readonly (readonly [string, SchemaNode | undefined, SchemaNode])[] = [
  ['a field is added', undefined, text],
  ['a description changes', { ...text, description: 'a' }, { ...text, description: 'b' }],
  ['a type is wider', { type: 'integer' }, { type: 'number' }],
  ['an enum gets a value', { enum: ['a'] }, { enum: ['a', 'b'] }],
  ['bounds go', { minimum: 1, maxLength: 9, pattern: 'a' }, { maxLength: 10 }],
  [
    'a field need not be there any more',
    object({ a: text }, { required: ['a'] }),
    object({ a: text }),
  ],
  ['a rule is given up', rule('self != ""'), text],
  ['fields become a map', object({ a: text }), map(text)],
  ['a rule is added for new objects', text, newRule('oldSelf.hasValue() || self != ""')],
  [
    'a rule is added for new values',
    text,
    newRule('(oldSelf.hasValue() && oldSelf.value() == self) || self != ""'),
  ],
];

describe('incompatibilities', () => {
  for (const [what, former, next, expected] of broken) {
    it(`are found where ${what}`, () => {
      assert.deepEqual(incompatibilities(definitionOf(former), definitionOf(next)), [expected]);
    });
  }

  for (const [what, former, next] of kept) {
    it(`are none where ${what}`, () => {
      assert.deepEqual(incompatibilities(definitionOf(former), definitionOf(next)), []);
    });
  }

  it('are found beside the schema', () => {
    const former = definitionOf(text, {
      subresources: { status: {} },
      selectableFields: [{ jsonPath: '.spec.a' }],
    });
    const names = { kind: 'Shop', plural: 'shops', shortNames: ['s'] };
    assert.deepEqual(
      incompatibilities(former, definitionOf(text, {}, { names, scope: 'Cluster' })),
      [
        'the scope has changed',
        'names.shortNames has changed',
        'the subresource status is gone',
        '.spec.a can no longer be selected by',
      ],
    );
  });

  it('are found where a version is no longer served, and only there', () => {
    const both = definitionOf(text).spec.versions.flatMap((version) => [
      version,
      { ...version, name: 'v2' },
    ]);
    const next = definitionOf(text, {}, { versions: both });
    assert.deepEqual(incompatibilities(definitionOf(text), next), []);
    assert.deepEqual(incompatibilities(next, definitionOf(text)), ['v2 is no longer served']);
    assert.deepEqual(incompatibilities(definitionOf(text), definitionOf(text, { served: false })), [
      'v1 is no longer served',
    ]);
  });
});

describe('the custom resources', () => {
  for (const plural of ['clustersyncs', 'syncverifications']) {
    it(`${plural}: take every object that those on record take`, async () => {
      const [former, next] = await Promise.all(
        [`recorded/${plural}.yaml`, `${plural}.yaml`].map(
          async (path) =>
            parse(await readFile(new URL(path, import.meta.url), 'utf8')) as ServedDefinition,
        ),
      );
      assert.ok(former && next);
      const found = incompatibilities(former, next);
      const advice = 'see "The API" in CONTRIBUTING.md for what to do:';
      assert.equal(found.length, 0, [advice, ...found].join('\n'));
    });
  }
});
