import type { SchemaNode } from '../../crds/json-schema.ts';
import type { SeededRandom } from '../ground/workload/seeded-random.ts';

/** Values that programs stumble over, of every type. */
const values: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 1e308, Number.MAX_SAFE_INTEGER + 1, -0],
  ...['', ' ', '\u0000', 'a\u0000b', '\ud800', '\udfff\ud800', '\u202e', '\u001b[2J', '../../etc'],
  ...[
    'mongodb://user:hunter2@host/',
    '$where',
    '$.a',
    'a.b.',
    '__proto__',
    'constructor',
    '(a+)+$',
  ],
  ...['(', '(?R)', 'x'.repeat(300), 'x'.repeat(100_000), '{"$gt": ""}', '1', 'true', '💣'],
  ...[[], [[]], [null], {}, { $gt: '' }, { toString: 1 }, { length: 1e9 }, { __proto: 1 }],
  Array.from({ length: 3_000 }, (_, index) => index),
  Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`key${index}`, index])),
];

const hostileKeys = ['__proto__', 'constructor', 'toString', '', '$ref', 'a.b', '\u0000', '\ud800'];

/** How likely a part of a body is not what the schema asks for. */
const hostileChance = 0.08;

/** The schemas that others refer to, by name. */
export type NamedSchemas = Readonly<Record<string, SchemaNode>>;

/** A value as a schema asks for it, in some places not. */
export function valueFor(schema: SchemaNode, named: NamedSchemas, random: SeededRandom): unknown {
  if (random.chance(hostileChance)) return random.pick(values);
  if (schema.$ref !== undefined) {
    const { [schema.$ref.split('/').at(-1) ?? '']: referred = {} } = named;
    return valueFor(referred, named, random);
  }
  if (schema.enum) return random.pick(schema.enum);
  const [type] = [schema.type ?? []].flat();
  switch (type) {
    case 'object':
      return objectFor(schema, named, random);
    case 'array': {
      const { items = {} } = schema;
      return Array.from({ length: random.below(3) }, () => valueFor(items, named, random));
    }
    case 'boolean':
      return random.chance(0.5);
    case 'integer':
    case 'number':
      return random.below(3);
    case 'string':
    case undefined:
    default:
      return random.pick(['cluster0', 'cluster1', 'shop', 'i', '^sh', 'hashed']);
  }
}

function objectFor(schema: SchemaNode, named: NamedSchemas, random: SeededRandom): unknown {
  const { properties = {}, required = [], additionalProperties } = schema;
  const fields: [string, unknown][] = [];
  for (const [name, field] of Object.entries(properties))
    if (required.includes(name) ? !random.chance(hostileChance) : random.chance(0.3))
      fields.push([name, valueFor(field, named, random)]);
  if (typeof additionalProperties === 'object')
    fields.push([random.pick(['x', 'y.z']), valueFor(additionalProperties, named, random)]);
  if (random.chance(hostileChance)) fields.push([random.pick(hostileKeys), random.pick(values)]);
  return Object.fromEntries(fields);
}

/** The text of a body: mostly that of the value, now and then one that no value has. */
export function bodyText(value: unknown, random: SeededRandom): Buffer {
  const text = JSON.stringify(value);
  return random.weighted<() => Buffer>([
    [12, () => Buffer.from(text)],
    [1, () => Buffer.from(text.slice(0, random.below(text.length + 1)))],
    // The same name twice.
    [1, () => Buffer.from(text.replace('{', '{"source":[],"destination":1,"source":"cluster1",'))],
    [1, () => Buffer.from(`{"__proto__":{"source":"cluster0"},"constructor":{"prototype":{}}}`)],
    [1, () => Buffer.from(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)],
    [1, () => Buffer.from('['.repeat(900_000))],
    [1, () => Buffer.alloc(1024 * 1024 + 1, ' ')],
    [1, () => Buffer.from('\u0000'.repeat(100))],
    [
      1,
      () =>
        Buffer.concat([Buffer.from('{"source":"'), Buffer.from([0xff, 0xc0]), Buffer.from('"}')]),
    ],
    [1, () => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)])],
    [1, () => Buffer.from(`{"source":1e999,"destination":-1e999}`)],
    [1, () => Buffer.from(`{"source":${'9'.repeat(10_000)}}`)],
  ])();
}
