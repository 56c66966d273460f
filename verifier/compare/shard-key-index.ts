import { isTrue } from '../../mongo/replicated-form.ts';
import type { RawValue } from '../../mongo/raw-value.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { keyFields } from './specification-difference.ts';

/** What an index has at least; old servers add two fields that mean nothing. */
const plainFields = new Set(['v', 'key', 'name', 'ns', 'background']);

/** True for an index on a shard key and nothing else, without any option. */
export function isOnShardKey(spec: IndexSpec, shardKey: RawValue): boolean {
  return (
    Object.keys(spec).every((field) => plainFields.has(field)) &&
    beginsWith(spec, shardKey) &&
    spec.key.elements().length === shardKey.elements().length
  );
}

/**
 * True for an index that the server takes for a shard key: it begins with the key's fields, has all documents, and compares
 * texts as bytes.
 */
export function supportsShardKey(spec: IndexSpec, shardKey: RawValue): boolean {
  return (
    beginsWith(spec, shardKey) &&
    !isTrue(spec['sparse']) &&
    !isTrue(spec['hidden']) &&
    spec['partialFilterExpression'] === undefined &&
    spec['collation'] === undefined
  );
}

function beginsWith({ key }: IndexSpec, shardKey: RawValue): boolean {
  const fields = keyFields(key);
  return keyFields(shardKey).every((field, position) => fields[position] === field);
}
