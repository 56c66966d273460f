import { notOptions } from '../sync-api/start-options.ts';
import { schemaAt, type DefinitionFile } from './definition.ts';
import { mapValues, rulesOf, type SchemaNode, type ValidationRule } from './json-schema.ts';

/** Keywords with the same meaning in a structural schema. */
const kept = [
  'title',
  'description',
  'type',
  'enum',
  'default',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minimum',
  'maximum',
  'required',
];

/** Keywords that are translated, that a structural schema expresses by its form, or that are about the command line. */
const translated = ['x-flag', '$ref', 'properties', 'items', 'additionalProperties', 'allOf'];

/**
 * The start options of a CustomResourceDefinition, from the JSON Schema of the body of POST /start.
 * None of them can be changed after creation.
 * @throws Error on a keyword that it cannot translate, rather than lose a rule.
 */
export function startOptionProperties(body: SchemaNode): Record<string, SchemaNode> {
  const options = Object.entries(body.properties ?? {}).filter(
    ([name]) => !notOptions.some((each) => each === name),
  );
  return Object.fromEntries(
    options.map(([name, schema]) => {
      const node = toStructural(schema, body, name);
      return [name, node.default === undefined ? node : withRule(node, immutable(name))];
    }),
  );
}

/**
 * Writes the start options into the definition of ClusterSyncs: one that it does not have follows the one before it in the
 * body's schema. One that has no default, nor a rule of its own there about its changes, gets one.
 */
export function putStartOptions(syncs: DefinitionFile, body: SchemaNode): void {
  const spec = ['properties', 'spec'];
  let former = 'destination';
  for (const [name, node] of Object.entries(startOptionProperties(body))) {
    syncs.setSchema([...spec, 'properties', name], node, former);
    former = name;
    const rules = rulesOf(schemaAt(syncs.definition, 'spec'));
    const isHeld = rules.some(({ rule }) => rule.includes(`oldSelf.${name})`));
    if (node.default === undefined && !isHeld) syncs.addRule(spec, immutableIfPresent(name));
  }
}

/** Writes the limits, which may be changed at any time, into the definition of ClusterSyncs: after the start options. */
export function putLimits(syncs: DefinitionFile, body: SchemaNode): void {
  const limits = toStructural({ $ref: '#/definitions/limits' }, body, 'limits');
  const former = Object.keys(startOptionProperties(body)).at(-1);
  syncs.setSchema(['properties', 'spec', 'properties', 'limits'], limits, former);
}

/** For fields without a default: a rule of the object also sees that a field is added or removed. */
function immutableIfPresent(name: string): ValidationRule {
  const [now, then] = [`self.${name}`, `oldSelf.${name}`];
  return {
    rule: `has(${now}) == has(${then}) && (!has(${now}) || ${now} == ${then})`,
    message: immutable(name).message,
    fieldPath: `.${name}`,
  };
}

/** Only for fields with a default: a field's rule is not evaluated when the field is added or removed. */
function immutable(name: string): ValidationRule {
  return {
    rule: 'self == oldSelf',
    message: `${name} cannot be changed; delete the ClusterSync, with spec.onDelete: Clean to drop what it has copied, and create another one`,
  };
}

function toStructural(schema: SchemaNode, root: SchemaNode, path: string): SchemaNode {
  if (schema.$ref !== undefined) return toStructural(resolve(schema.$ref, root), root, path);
  const unknown = Object.keys(schema).find((key) => ![...kept, ...translated].includes(key));
  if (unknown !== undefined) throw new Error(`${path}: the keyword ${unknown} is not translated`);
  const { type, properties, items, additionalProperties } = schema;
  const node: Record<string, unknown> = {};
  for (const keyword of kept) if (keyword in schema) node[keyword] = schema[keyword];
  if (Array.isArray(type)) {
    delete node['type'];
    node['x-kubernetes-int-or-string'] = intOrString(type, path);
  }
  if (properties) {
    node['properties'] = mapValues(properties, (property, name) =>
      toStructural(property, root, `${path}.${name}`),
    );
  }
  if (items) node['items'] = toStructural(items, root, `${path}[]`);
  if (typeof additionalProperties === 'object') {
    node['additionalProperties'] = toStructural(additionalProperties, root, `${path}.*`);
  }
  const all = (schema['allOf'] as readonly SchemaNode[] | undefined) ?? [];
  return all.reduce<SchemaNode>((result, part) => withRule(result, toRule(part, path)), node);
}

function intOrString(types: readonly string[], path: string): true {
  if ([...types].sort().join() === 'number,string') return true;
  throw new Error(`${path}: a union of ${types.join(' and ')} is not translated`);
}

/** Rules about which properties go together: CEL can explain a violation, `oneOf` and `not` cannot. */
function toRule(part: SchemaNode, path: string): ValidationRule {
  const alternatives = (part['oneOf'] as readonly SchemaNode[] | undefined)?.map(onlyRequired);
  const [one, other] = alternatives ?? [];
  if (alternatives?.length === 2 && one?.length === 1 && other?.length === 1) {
    return {
      rule: `has(self.${one.join()}) != has(self.${other.join()})`,
      message: `set exactly one of ${one.join()} and ${other.join()}`,
    };
  }
  const forbidden = part['not'] === undefined ? [] : onlyRequired(part['not'] as SchemaNode);
  if (forbidden.length === 2) {
    return {
      rule: `!(${forbidden.map((name) => `has(self.${name})`).join(' && ')})`,
      message: `set at most one of ${forbidden.join(' and ')}`,
    };
  }
  throw new Error(`${path}: ${JSON.stringify(part)} is not translated`);
}

function onlyRequired(schema: SchemaNode): readonly string[] {
  return Object.keys(schema).join() === 'required' ? (schema.required ?? []) : [];
}

function withRule(node: SchemaNode, rule: ValidationRule): SchemaNode {
  return { ...node, 'x-kubernetes-validations': [...rulesOf(node), rule] };
}

function resolve(reference: string, root: SchemaNode): SchemaNode {
  const name = /^#\/definitions\/(\w+)$/.exec(reference)?.[1];
  const found = name === undefined ? undefined : root.definitions?.[name];
  if (!found) throw new Error(`${reference} leads nowhere`);
  return found;
}
