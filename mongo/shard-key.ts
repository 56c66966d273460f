import type { Document } from 'mongodb';
import { isTrue } from './replicated-form.ts';
import type { IndexSpec } from './specification.ts';

/** A field of a shard key. The server knows no other kinds (6.0.5 refuses a descending one). */
export interface ShardKeyField {
  readonly field: string;
  readonly kind: 1 | 'hashed';
}

/** The shard key of a collection: its fields in order. */
export type ShardKey = readonly ShardKeyField[];

/** Name of the index that supports a shard key as long as the collection has no other that does. */
export const shardKeyIndexName = 'clustersync_shard_key';

/** A shard key as the server shows it, `{a: 1, b: 'hashed'}`. */
export function shardKeyFrom(document: object): ShardKey {
  return Object.entries(document).map(([field, kind]) => {
    return { field, kind: kind === 'hashed' ? 'hashed' : 1 };
  });
}

/** A shard key in the form of commands. */
export function shardKeyDocument(key: ShardKey): Document {
  return Object.fromEntries(key.map(({ field, kind }) => [field, kind]));
}

/** True for two shard keys of the same fields in the same order. */
export function isSameKey(one: ShardKey, other: ShardKey): boolean {
  return (
    one.length === other.length &&
    one.every(({ field, kind }, at) => field === other[at]?.field && kind === other[at].kind)
  );
}

/**
 * True if the `_id` of a document determines its shard, which is also true without a shard key: a second document with the same `_id`
 * is refused. With any other shard key each shard refuses only duplicates of its own documents.
 */
export function isPlacedById(key: ShardKey | null): boolean {
  return key === null || (key.length === 1 && key[0]?.field === '_id');
}

/**
 * True for an index that the server accepts for a shard key: it begins with the key's fields, has every document, and compares
 * texts as bytes. One on only the key may be multikey, which the server finds out when it is used.
 */
export function supportsShardKey(spec: IndexSpec, key: ShardKey): boolean {
  return beginsWith(spec, key, ({ kind }, value) => value === kind) && isComplete(spec);
}

/** True for an index that can be unique in a collection with a shard key: it begins with the key's fields, in any form. */
export function canBeUnique(spec: IndexSpec, key: ShardKey): boolean {
  return spec.key.elements()[0]?.name === '_id' || beginsWith(spec, key, () => true);
}

function beginsWith(
  spec: IndexSpec,
  key: ShardKey,
  isKind: (field: ShardKeyField, value: unknown) => boolean,
): boolean {
  const values = Object.entries(spec.key.decode() as Document);
  const names = spec.key.elements().map(({ name }) => name);
  const valueOf = (name: string): unknown => {
    const value: unknown = values.find(([other]) => other === name)?.[1];
    return typeof value === 'string' ? value : Number(value);
  };
  return key.every((field, at) => names[at] === field.field && isKind(field, valueOf(field.field)));
}

function isComplete(spec: IndexSpec): boolean {
  return (
    !isTrue(spec['hidden']) &&
    !isTrue(spec['sparse']) &&
    spec['partialFilterExpression'] === undefined &&
    spec['collation'] === undefined
  );
}
