import type { Document } from 'mongodb';
import type { NamespaceInfo } from '../../mongo/catalog.ts';
import type { RawValue } from '../../mongo/raw-value.ts';
import { isIdIndex, replicatedIndex, replicatedOptions } from '../../mongo/replicated-form.ts';
import { unevenIndexes, type ShardIndexes } from '../../mongo/shard-indexes.ts';
import {
  shardKeyFrom,
  shardKeyIndexName,
  supportsShardKey,
  type ShardKey,
} from '../../mongo/shard-key.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import {
  fieldDifference,
  fieldDifferences,
  relaxedText,
  type FieldDifference,
} from './document-difference.ts';
import type { MetadataDifference } from './mismatch.ts';

/** A namespace on one side. */
export interface NamespaceState {
  readonly info: NamespaceInfo;
  /** All indexes as listed; empty unless it is a collection. */
  readonly indexes: readonly IndexSpec[];
  /** The indexes of a sharded collection on each shard. */
  readonly shardIndexes?: ShardIndexes;
  /** Of a collection of a sharded cluster. */
  readonly placement: Placement | undefined;
}

/** What is correct on the destination. */
export interface MetadataRules {
  /** True during a sync: then the form that indexes and options have until the commit is correct, too. */
  readonly isReplicatedFormRight: boolean;
  /** True if the sync leaves indexes out (`buildIndexes: never`). */
  readonly mayLackIndexes: boolean;
}

/** All differences of a namespace between the two sides, except in its documents. */
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
    ...indexDifferencesOfShards(source, destination, rules),
    ...placementDifferences(source.placement, destination.placement),
  ];
}

function optionsOf({ info }: NamespaceState): Document {
  return info.kind === 'collection' || info.kind === 'view' ? info.options : {};
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

/**
 * The differences of each shard of the destination; those that all of them share are listed once. An index that the source's shards
 * do not have alike does not count as an index of the collection: during a sync the destination may have it on some shards.
 */
function indexDifferencesOfShards(
  source: NamespaceState,
  destination: NamespaceState,
  rules: MetadataRules,
): MetadataDifference[] {
  const uneven = unevenIndexes(source.shardIndexes ?? new Map());
  const isEven = ({ name }: IndexSpec): boolean => !uneven.has(name);
  const isCompared = rules.isReplicatedFormRight ? isEven : () => true;
  const expected = source.indexes.filter(isEven);
  const compare = (indexes: readonly IndexSpec[]): MetadataDifference[] => {
    const actual = { ...destination, indexes: indexes.filter(isCompared) };
    return indexDifferences(expected, actual, rules);
  };
  const { shardIndexes } = destination;
  if (!shardIndexes?.size) return compare(destination.indexes);
  const found = new Map<string, DifferenceOnShards>();
  for (const [shard, indexes] of shardIndexes) {
    for (const difference of compare(indexes)) {
      const { kind, index, field, detail = '' } = difference;
      const key = JSON.stringify([kind, index, field]);
      const entry = found.get(key) ?? { difference, shards: new Map<string, string[]>() };
      entry.shards.set(detail, [...(entry.shards.get(detail) ?? []), shard]);
      found.set(key, entry);
    }
  }
  return Array.from(found.values(), ({ difference, shards }) => {
    const details = Array.from(shards, ([detail, names]) => {
      if (names.length === shardIndexes.size) return detail;
      const where = `only on ${names.sort().join(', ')}`;
      return detail === '' ? where : `${detail}, ${where}`;
    });
    const detail = details.sort().join('; ');
    return detail === '' ? difference : { ...difference, detail };
  });
}

/** A difference of an index that some shards of the destination have, in one way or several. */
interface DifferenceOnShards {
  readonly difference: MetadataDifference;
  /** By what is to be said about it. */
  readonly shards: Map<string, string[]>;
}

function indexDifferences(
  source: readonly IndexSpec[],
  destination: NamespaceState,
  rules: MetadataRules,
): MetadataDifference[] {
  const { isReplicatedFormRight, mayLackIndexes } = rules;
  const expected = new Map(source.map((spec) => [spec.name, spec]));
  const actual = new Map(destination.indexes.map((spec) => [spec.name, spec]));
  const differences: MetadataDifference[] = [];
  for (const [index, spec] of expected) {
    const copy = actual.get(index);
    if (!copy) {
      if (!mayLackIndexes || isIdIndex(spec)) differences.push({ kind: 'missingIndex', index });
      continue;
    }
    const different = differentFields(spec, copy);
    if (different.size === 0) continue;
    const unlike = isReplicatedFormRight ? differentFields(replicatedIndex(spec), copy) : different;
    if (unlike.size === 0) continue;
    const unlikeBoth = [...different].filter(([field]) => unlike.has(field));
    // Each field may be right in itself, if some have the form of the source and others the replicated one.
    const listed = unlikeBoth.length > 0 ? unlikeBoth : different;
    for (const [, difference] of listed)
      differences.push({ kind: 'differentIndex', index, ...difference });
  }
  for (const [index, spec] of actual) {
    if (expected.has(index) || isForShardKey(spec, source, destination, rules)) continue;
    differences.push({ kind: 'extraIndex', index });
  }
  return differences;
}

/**
 * True for an index that the source does not have, but that the destination needs for its shard key, since no index of the source
 * is suitable. During a sync it may exist beside a suitable one, which may have been created later.
 */
function isForShardKey(
  spec: IndexSpec,
  source: readonly IndexSpec[],
  { indexes, placement }: NamespaceState,
  { isReplicatedFormRight }: MetadataRules,
): boolean {
  const shardKey = placement?.shardKey;
  if (!shardKey) return false;
  const key = shardKeyFrom(shardKey.decode() as object);
  if (!isOnShardKey(spec, key)) return false;
  const names = new Set(indexes.map(({ name }) => name));
  const isInstead = (own: IndexSpec): boolean => names.has(own.name) && supportsShardKey(own, key);
  return isReplicatedFormRight || !source.some(isInstead);
}

/** The fields of an index that differ, by name. */
function differentFields(spec: IndexSpec, copy: IndexSpec): ReadonlyMap<string, FieldDifference> {
  if (!isIdIndex(spec)) return fieldDifferences(spec, copy);
  // It has the collation of its collection and, if it is clustered, since 7.0 the TTL as well (seen on 6.0.27 and 7.0.28): both are
  // in the collection's options.
  const { collation: _left, expireAfterSeconds: _leftTtl, ...left } = spec;
  const { collation: _right, expireAfterSeconds: _rightTtl, ...right } = copy;
  return fieldDifferences(left, right);
}

/** A range of shard key values assigned to a zone. */
export interface ZoneRange {
  readonly zone: string;
  readonly min: RawValue;
  readonly max: RawValue;
}

/** How a sharded cluster places the documents of a collection. */
export interface Placement {
  /** Undefined if the collection is not sharded. */
  readonly shardKey: RawValue | undefined;
  readonly zoneRanges: readonly ZoneRange[];
  /** The zones that the cluster has shards in. */
  readonly zones: ReadonlySet<string>;
}

/**
 * How the placement of a collection differs between two sharded clusters: its shard key, and the ranges of zones that
 * have shards in both clusters. Empty if one side is a replica set.
 */
function placementDifferences(
  source: Placement | undefined,
  destination: Placement | undefined,
): MetadataDifference[] {
  if (!source || !destination) return [];
  const shardKey = shardKeyDifference(source.shardKey, destination.shardKey);
  if (shardKey) return [shardKey];
  return zoneDifferences(source, destination);
}

function shardKeyDifference(
  source: RawValue | undefined,
  destination: RawValue | undefined,
): MetadataDifference | undefined {
  if (!source && !destination) return undefined;
  if (!destination) return { kind: 'shardKey', detail: 'sharded only on the source' };
  if (!source) return { kind: 'shardKey', detail: 'sharded only on the destination' };
  const difference = fieldDifference({ key: source }, { key: destination });
  return difference && { kind: 'shardKey', ...difference };
}

function zoneDifferences(source: Placement, destination: Placement): MetadataDifference[] {
  const common = [...source.zones].filter((zone) => destination.zones.has(zone));
  return common.sort().flatMap((zone): MetadataDifference[] => {
    const expected = rangesOf(source, zone);
    const actual = rangesOf(destination, zone);
    const isMissing = [...expected].some((range) => !actual.has(range));
    const isExtra = [...actual].some((range) => !expected.has(range));
    if (!isMissing && !isExtra) return [];
    const detail = isMissing ? 'a range missing on the destination' : 'a range not on the source';
    return [{ kind: 'zone', field: zone, detail }];
  });
}

function rangesOf({ zoneRanges }: Placement, name: string): Set<string> {
  const ranges = zoneRanges.filter(({ zone }) => zone === name);
  return new Set(ranges.map(({ min, max }) => `${relaxedText(min)} ${relaxedText(max)}`));
}

/** The fields of every index; old servers add two fields without meaning. */
const plainFields = new Set(['v', 'key', 'name', 'ns', 'background']);

/**
 * True for an index that exists only for a shard key: on the key and nothing else, without any option, or the one that a
 * syncer creates if there is none.
 */
function isOnShardKey(spec: IndexSpec, key: ShardKey): boolean {
  return (
    Object.keys(spec).every((field) => plainFields.has(field)) &&
    supportsShardKey(spec, key) &&
    (spec.name === shardKeyIndexName || spec.key.elements().length === key.length)
  );
}
