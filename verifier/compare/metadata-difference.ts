import { BSON, type Document } from 'mongodb';
import type { NamespaceInfo } from '../../mongo/catalog.ts';
import { bsonType } from '../../mongo/raw-bson.ts';
import { decodeElement, RawValue } from '../../mongo/raw-value.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { isIdIndex, replicatedIndex, replicatedOptions } from '../../mongo/replicated-form.ts';
import { firstDifference, otherValue, type FieldDifference } from './document-difference.ts';
import type { MetadataDifference } from './mismatch.ts';

const { EJSON } = BSON;

/** What one side has of a namespace. */
export interface NamespaceState {
  readonly info: NamespaceInfo;
  /** All indexes; empty for what is not a collection. */
  readonly indexes: readonly IndexSpec[];
}

/** What is right on the destination. */
export interface MetadataRules {
  /** True while a sync runs: the form that indexes and options have until the commit is right as well. */
  readonly isReplicatedFormRight: boolean;
  /** True where the sync leaves indexes out (`buildIndexes: never`). */
  readonly mayLackIndexes: boolean;
}

/** All differences of a namespace between the two sides, apart from its documents. */
export function metadataDifferences(
  source: NamespaceState | undefined,
  destination: NamespaceState | undefined,
  rules: MetadataRules,
): MetadataDifference[] {
  if (!source && !destination) return [];
  if (!destination) return [{ kind: 'missingNamespace' }];
  if (!source) return [{ kind: 'extraNamespace' }];
  const { kind } = source.info;
  if (kind !== destination.info.kind) {
    const detail = `a ${kind} on the source, a ${destination.info.kind} on the destination`;
    return [{ kind: 'namespaceType', detail }];
  }
  const options = optionDifference(optionsOf(source), optionsOf(destination), rules);
  return [
    ...(options ? [{ kind: 'options', ...options } as const] : []),
    ...indexDifferences(source.indexes, destination.indexes, rules),
  ];
}

function optionsOf({ info }: NamespaceState): Document {
  return info.kind === 'timeseries' ? {} : info.options;
}

function optionDifference(
  source: Document,
  destination: Document,
  { isReplicatedFormRight }: MetadataRules,
): FieldDifference | undefined {
  const difference = fieldDifference(source, destination);
  const isRight =
    isReplicatedFormRight &&
    difference !== undefined &&
    fieldDifference(replicatedOptions(source), destination) === undefined;
  return isRight ? undefined : difference;
}

function indexDifferences(
  source: readonly IndexSpec[],
  destination: readonly IndexSpec[],
  { isReplicatedFormRight, mayLackIndexes }: MetadataRules,
): MetadataDifference[] {
  const expected = new Map(source.map((spec) => [spec.name, spec]));
  const actual = new Map(destination.map((spec) => [spec.name, spec]));
  const differences: MetadataDifference[] = [];
  for (const [index, spec] of expected) {
    const copy = actual.get(index);
    if (!copy) {
      if (!mayLackIndexes || isIdIndex(spec)) differences.push({ kind: 'missingIndex', index });
      continue;
    }
    const difference = indexDifference(spec, copy);
    if (!difference) continue;
    if (isReplicatedFormRight && !indexDifference(replicatedIndex(spec), copy)) continue;
    differences.push({ kind: 'differentIndex', index, ...difference });
  }
  for (const index of actual.keys()) {
    if (!expected.has(index)) differences.push({ kind: 'extraIndex', index });
  }
  return differences;
}

function indexDifference(spec: IndexSpec, copy: IndexSpec): FieldDifference | undefined {
  if (!isIdIndex(spec)) return fieldDifference(spec, copy);
  // It has the collation of its collection, whose options tell it.
  const { collation: _left, ...left } = spec;
  const { collation: _right, ...right } = copy;
  return fieldDifference(left, right);
}

/** Fields that say nothing about what an index or a collection does. */
const meaninglessFields = new Set(['ns', 'background', 'uuid', 'autoIndexId', 'flags']);

/** Values that mean the same as the absence of the field. */
const defaults: Readonly<Record<string, string>> = {
  capped: 'false',
  unique: 'false',
  sparse: 'false',
  hidden: 'false',
  prepareUnique: 'false',
  validator: '{}',
  validationLevel: '"strict"',
  validationAction: '"error"',
  changeStreamPreAndPostImages: '{"enabled":false}',
  recordPreImages: 'false',
};

/** Fields whose value is a query or a pipeline, where a number's type can make a difference. */
const exactFields = new Set(['validator', 'partialFilterExpression', 'pipeline']);

/**
 * The first field of options or of an index that differs. The fields' own order means nothing; in a key, a pipeline, a
 * collation it does. Numbers are the same whatever their type, other than in queries.
 */
function fieldDifference(source: Document, destination: Document): FieldDifference | undefined {
  for (const field of new Set([...Object.keys(source), ...Object.keys(destination)])) {
    if (meaninglessFields.has(field)) continue;
    const left = meaningful(field, source[field]);
    const right = meaningful(field, destination[field]);
    if (left === undefined && right === undefined) continue;
    if (left === undefined) return { field, detail: 'not on the source' };
    if (right === undefined) return { field, detail: 'missing on the destination' };
    if (!exactFields.has(field) && relaxedText(left) === relaxedText(right)) continue;
    const inner = firstDifference(
      BSON.serialize({ [field]: left }, { ignoreUndefined: false }),
      BSON.serialize({ [field]: right }, { ignoreUndefined: false }),
    );
    if (inner) return { ...inner, field: inner.field === '' ? field : inner.field };
    if (!exactFields.has(field)) return { field, detail: otherValue };
  }
  return undefined;
}

function meaningful(field: string, value: unknown): unknown {
  if (value === undefined || value === null) return undefined;
  const absent = defaults[field];
  return absent !== undefined && relaxedText(value) === absent ? undefined : value;
}

/** The same text for numbers of any type. Fields keep their order. */
function relaxedText(value: unknown): string {
  if (!(value instanceof RawValue)) return EJSON.stringify(value, { relaxed: true });
  const inner = value.elements().map((element): readonly [string, string] => {
    const { type, name } = element;
    const isNested = type === bsonType.document || type === bsonType.array;
    return [name, relaxedText(isNested ? new RawValue(name, element) : decodeElement(element))];
  });
  return value.type === bsonType.array
    ? `[${inner.map(([, text]) => text).join(',')}]`
    : `{${inner.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}
