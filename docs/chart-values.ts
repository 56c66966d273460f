import { isMap, isScalar, parse, parseDocument, type Pair, type YAMLMap } from 'yaml';
import type { SchemaNode } from '../crds/json-schema.ts';

/** A value of the chart. */
export interface ChartValue {
  /** As `--set` takes it. */
  readonly path: string;
  readonly type: string;
  readonly default: unknown;
  readonly description: string;
}

type ValueSchema = SchemaNode & { readonly anyOf?: readonly SchemaNode[] };

/** A value as values.yaml has it: with its comment, or, of a group, with its values. */
type Entry = { readonly name: string; readonly default: unknown } & (
  | { readonly description: string; readonly schema: ValueSchema }
  | { readonly description: undefined; readonly entries: readonly Entry[] }
);

/**
 * The values of a chart, in the order of values.yaml: each has a comment of its own there, which is its description.
 * @param schemaText - has the definitions that comments refer to.
 * @throws Error when one has no comment, or one that does not say what the value may be.
 */
export function chartValues(valuesText: string, schemaText: string): ChartValue[] {
  const root = JSON.parse(schemaText) as ValueSchema;
  const valuesOf = (entries: readonly Entry[], prefix: string): ChartValue[] =>
    entries.flatMap((entry) => {
      const path = `${prefix}${entry.name}`;
      if (entry.description === undefined) return valuesOf(entry.entries, `${path}.`);
      const { default: preset, description } = entry;
      return [{ path, type: typeOf(entry.schema, root), default: preset, description }];
    });
  return valuesOf(entriesOf(valuesText), '');
}

/**
 * The schema of a chart's values. After `@schema`, the comment above a value says what it may be, as YAML; without it, the value may be
 * any of its type, and a map any of texts. A map without a comment is a group.
 * @param schemaText - the previous schema, whose definitions stay.
 * @throws Error as {@link chartValues}.
 */
export function chartSchema(valuesText: string, schemaText: string): SchemaNode {
  const root = JSON.parse(schemaText) as SchemaNode;
  const propertiesOf = (entries: readonly Entry[]): Record<string, SchemaNode> =>
    Object.fromEntries(entries.map((entry) => [entry.name, nodeOf(entry)]));
  const nodeOf = (entry: Entry): SchemaNode => {
    if (entry.description !== undefined) return entry.schema;
    const properties = propertiesOf(entry.entries);
    return { type: 'object', additionalProperties: false, properties };
  };
  // Helm's own: subcharts are given it.
  const global = { type: 'object' };
  return { ...root, properties: { global, ...propertiesOf(entriesOf(valuesText)) } };
}

function entriesOf(valuesText: string): readonly Entry[] {
  const { contents } = parseDocument(valuesText);
  if (!isMap(contents)) throw new Error('values.yaml is not a map');
  return entriesIn(contents, '');
}

function entriesIn(map: YAMLMap, prefix: string): readonly Entry[] {
  const values = map.toJSON() as Readonly<Record<string, unknown>>;
  return map.items.map((pair, index): Entry => {
    const name = String(pair.key);
    const path = `${prefix}${name}`;
    const [description, schema] = commentOf(pair, index === 0 ? map : undefined);
    if (description !== undefined) {
      const text = description.replaceAll(/\s+/g, ' ').trim();
      return {
        ...{ name, default: values[name], description: text },
        schema:
          schema === undefined ? schemaLike(values[name], path) : (parse(schema) as ValueSchema),
      };
    }
    if (!isMap(pair.value)) throw new Error(`${path} has no comment in values.yaml`);
    const entries = entriesIn(pair.value, `${path}.`);
    return { name, default: values[name], description, entries };
  });
}

/** The comment above a value, before and after `@schema`; that of the first one of a map belongs to the map. */
function commentOf({ key }: Pair, map: YAMLMap | undefined): readonly string[] {
  const text = (isScalar(key) ? key.commentBefore : undefined) ?? map?.commentBefore;
  return text?.split('@schema') ?? [];
}

/** What a value may be that is like this one. */
function schemaLike(value: unknown, path: string): ValueSchema {
  if (typeof value === 'boolean' || typeof value === 'string') return { type: typeof value };
  if (Number.isInteger(value)) return { type: 'integer' };
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return { type: 'object', additionalProperties: { type: 'string' } };
  throw new Error(`${path} needs @schema in values.yaml`);
}

function resolved(node: ValueSchema | undefined, root: ValueSchema): ValueSchema | undefined {
  if (node?.$ref === undefined) return node;
  const name = node.$ref.replace('#/definitions/', '');
  const target = root.definitions?.[name];
  if (target === undefined) throw new Error(`${node.$ref} leads nowhere`);
  return target;
}

function typeOf(given: ValueSchema, root: ValueSchema): string {
  const node = resolved(given, root) ?? given;
  const { type, anyOf, items } = node;
  if (node.enum) return node.enum.map((each) => `\`${each}\``).join(', ');
  if (anyOf) return anyOf.map((each) => typeOf(each, root)).join(' or ');
  if (type === 'array') {
    const item = resolved(items, root);
    return item?.type === undefined ? 'list' : `list of ${typeOf(item, root)}s`;
  }
  if (typeof type !== 'string') throw new Error('a value needs one type in its @schema');
  return type;
}
