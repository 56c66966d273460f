import { isMap, isScalar, parseDocument, type Pair, type YAMLMap } from 'yaml';
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

/**
 * The values of a chart, in the order of values.yaml: each has a comment of its own there, which is its description.
 * @throws Error when values.yaml and values.schema.json do not have the same values, or one has no comment.
 */
export function chartValues(valuesText: string, schemaText: string): ChartValue[] {
  const root = JSON.parse(schemaText) as ValueSchema;
  const document = parseDocument(valuesText);
  if (!isMap(document.contents)) throw new Error('values.yaml is no map');
  return valuesIn(document.contents, root, { root, prefix: '' });
}

interface Place {
  readonly root: ValueSchema;
  readonly prefix: string;
}

function valuesIn(map: YAMLMap, schema: ValueSchema, { root, prefix }: Place): ChartValue[] {
  const properties = new Map(Object.entries(schema.properties ?? {}));
  // Helm's own: subcharts are given it.
  if (prefix === '') properties.delete('global');
  const values = map.items.flatMap((pair, index): ChartValue[] => {
    const name = String(pair.key);
    const path = `${prefix}${name}`;
    const node = resolved(properties.get(name), root);
    if (node === undefined) throw new Error(`values.schema.json lacks ${path}`);
    properties.delete(name);
    const description = commentOf(pair, index === 0 ? map : undefined);
    if (description !== undefined) {
      const value = (map.toJSON() as Record<string, unknown>)[name];
      return [{ path, type: typeOf(node, root), default: value, description }];
    }
    if (!isMap(pair.value)) throw new Error(`${path} has no comment in values.yaml`);
    return valuesIn(pair.value, node, { root, prefix: `${path}.` });
  });
  for (const name of properties.keys()) throw new Error(`values.yaml lacks ${prefix}${name}`);
  return values;
}

/** The comment above a value; that of the first one of a map belongs to the map. */
function commentOf({ key }: Pair, map: YAMLMap | undefined): string | undefined {
  const text = (isScalar(key) ? key.commentBefore : undefined) ?? map?.commentBefore;
  return text?.replaceAll(/\s+/g, ' ').trim();
}

function resolved(node: ValueSchema | undefined, root: ValueSchema): ValueSchema | undefined {
  if (node?.$ref === undefined) return node;
  const name = node.$ref.replace('#/definitions/', '');
  const target = root.definitions?.[name];
  if (target === undefined) throw new Error(`${node.$ref} leads nowhere`);
  return target;
}

function typeOf(node: ValueSchema, root: ValueSchema): string {
  const { type, anyOf, items } = node;
  if (node.enum) return node.enum.map((each) => `\`${each}\``).join(', ');
  if (anyOf) return anyOf.map((each) => typeOf(each, root)).join(' or ');
  if (type === 'array') {
    const item = resolved(items, root);
    return item?.type === undefined ? 'list' : `list of ${typeOf(item, root)}s`;
  }
  if (typeof type !== 'string') throw new Error('a value needs one type in values.schema.json');
  return type;
}
