import { isDeepStrictEqual } from 'node:util';
import { rulesOf, type SchemaNode, type ValidationRule } from './json-schema.ts';

/** The parts of a CustomResourceDefinition that its users rely on. */
export interface ServedDefinition {
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: Readonly<Record<string, unknown>>;
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly subresources?: object;
      readonly selectableFields?: readonly { readonly jsonPath: string }[];
      readonly schema: { readonly openAPIV3Schema: SchemaNode };
    }[];
  };
}

/** Smallest and largest values: a change in this direction rejects what was allowed. */
const lowerBounds = ['minimum', 'minLength', 'minItems', 'minProperties'] as const;
const upperBounds = ['maximum', 'maxLength', 'maxItems', 'maxProperties'] as const;
/** Keywords that may be removed, but neither changed nor added. */
const constraints = ['pattern', 'format', 'uniqueItems', 'exclusiveMinimum', 'exclusiveMaximum'];
/** Keywords that may not be changed at all: the meaning of an absent field, and how changes of it are merged. */
const meanings = ['default', 'x-kubernetes-list-type', 'x-kubernetes-list-map-keys'];

/** How a rule begins that every existing object passes: at all, or as long as the value does not change. */
const passesOld = ['oldSelf.hasValue() || ', '(oldSelf.hasValue() && oldSelf.value() == self) || '];

/**
 * The changes in a definition that break objects, manifests or clients of a previous one, each as a sentence. A changed CEL rule
 * counts as a new one: its text does not show which values it rejects. A rule that applies only to new values breaks no object; that
 * what it refuses has never worked is for its author to know.
 */
export function incompatibilities(former: ServedDefinition, next: ServedDefinition): string[] {
  const named = (['group', 'scope'] as const).filter(
    (name) => former.spec[name] !== next.spec[name],
  );
  const renamed = Object.keys(former.spec.names).filter(
    (name) => !keeps(former.spec.names[name], next.spec.names[name]),
  );
  return [
    ...named.map((name) => `the ${name} has changed`),
    ...renamed.map((name) => `names.${name} has changed`),
    ...former.spec.versions.flatMap((version) => {
      const nextVersion = next.spec.versions.find(({ name }) => name === version.name);
      if (!version.served) return [];
      if (nextVersion?.served !== true) return [`${version.name} is no longer served`];
      return [
        ...Object.keys(version.subresources ?? {})
          .filter((name) => !Object.hasOwn(nextVersion.subresources ?? {}, name))
          .map((name) => `the subresource ${name} is gone`),
        ...(version.selectableFields ?? [])
          .filter(
            ({ jsonPath }) =>
              nextVersion.selectableFields?.some((field) => field.jsonPath === jsonPath) !== true,
          )
          .map(({ jsonPath }) => `${jsonPath} can no longer be selected by`),
        ...narrowings(
          version.schema.openAPIV3Schema,
          nextVersion.schema.openAPIV3Schema,
          version.name,
        ),
      ];
    }),
  ];
}

/** Lists of names may grow. */
function keeps(former: unknown, next: unknown): boolean {
  if (!Array.isArray(former)) return isDeepStrictEqual(former, next);
  return Array.isArray(next) && former.every((each) => next.includes(each));
}

function narrowings(former: SchemaNode, next: SchemaNode, path: string): string[] {
  return [
    ...narrowedType(former, next),
    ...narrowedEnum(former, next),
    ...(next.required ?? [])
      .filter((name) => former.required?.includes(name) !== true)
      .map((name) => `${name} is required now`),
    ...lowerBounds
      .filter((name) => boundOf(next, name, -Infinity) > boundOf(former, name, -Infinity))
      .map((name) => `${name} is larger`),
    ...upperBounds
      .filter((name) => boundOf(next, name, Infinity) < boundOf(former, name, Infinity))
      .map((name) => `${name} is smaller`),
    ...constraints
      .filter((name) => next[name] !== undefined && !isDeepStrictEqual(former[name], next[name]))
      .map((name) => `${name} is new`),
    ...meanings
      .filter((name) => !isDeepStrictEqual(former[name], next[name]))
      .map((name) => `${name} has changed`),
    ...(former['nullable'] === true && next['nullable'] !== true ? ['null is refused'] : []),
    ...rulesOf(next)
      .filter(({ rule }) => !rulesOf(former).some((each) => each.rule === rule))
      .filter((each) => !isOfNewValues(each))
      .map(({ rule }) => `a rule is new: ${rule}`),
  ]
    .map((text) => `${path}: ${text}`)
    .concat(narrowedParts(former, next, path));
}

function isOfNewValues({ rule, optionalOldSelf = false }: ValidationRule): boolean {
  return optionalOldSelf && passesOld.some((start) => rule.startsWith(start));
}

function narrowedType({ type: former }: SchemaNode, { type: next }: SchemaNode): string[] {
  if (next === undefined || next === former) return [];
  if (former === 'integer' && next === 'number') return [];
  return [`the type is ${String(next)}, and was ${String(former ?? 'any')}`];
}

function narrowedEnum({ enum: former }: SchemaNode, { enum: next }: SchemaNode): string[] {
  if (next === undefined) return [];
  if (former === undefined) return ['only some values are allowed now'];
  return former
    .filter((value) => !next.includes(value))
    .map((value) => `${value} is no longer allowed`);
}

function boundOf(node: SchemaNode, name: string, fallback: number): number {
  const bound = node[name];
  return typeof bound === 'number' ? bound : fallback;
}

function narrowedParts(former: SchemaNode, next: SchemaNode, path: string): string[] {
  const isOpen =
    next['x-kubernetes-preserve-unknown-fields'] === true || next.additionalProperties === true;
  const wasOpen =
    former['x-kubernetes-preserve-unknown-fields'] === true || former.additionalProperties === true;
  const others = valuesOf(next);
  const found = Object.entries(former.properties ?? {}).flatMap(([name, property]) => {
    const nextProperty = next.properties?.[name] ?? others;
    if (nextProperty) return narrowings(property, nextProperty, `${path}.${name}`);
    return isOpen ? [] : [`${path}.${name} is gone`];
  });
  if (wasOpen && !isOpen) found.push(`${path}: fields that are not described are dropped now`);
  const values = valuesOf(former);
  if (values) {
    if (others) found.push(...narrowings(values, others, `${path}.*`));
    else if (!isOpen) found.push(`${path}: only fields of some names are kept now`);
  }
  if (former.items && next.items) {
    found.push(...narrowings(former.items, next.items, `${path}[]`));
  }
  return found;
}

/** The schema of a map's values. */
function valuesOf({ additionalProperties }: SchemaNode): SchemaNode | undefined {
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}
