import type { RawValue } from '../../mongo/raw-value.ts';
import { shardKeyIndexName } from '../../mongo/shard-key.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { keyFields } from './specification-difference.ts';

/** What an index has at least; old servers add two fields that mean nothing. */
const plainFields = new Set(['v', 'key', 'name', 'ns', 'background']);

/**
 * True for an index that is there for a shard key alone: on the key and nothing else, without any option, or the one that a
 * syncer makes where there is none.
 */
export function isOnShardKey(spec: IndexSpec, shardKey: RawValue): boolean {
  return (
    Object.keys(spec).every((field) => plainFields.has(field)) &&
    beginsWith(spec, shardKey) &&
    (spec.name === shardKeyIndexName || spec.key.elements().length === shardKey.elements().length)
  );
}

function beginsWith({ key }: IndexSpec, shardKey: RawValue): boolean {
  const fields = keyFields(key);
  return keyFields(shardKey).every((field, position) => fields[position] === field);
}
