import { shardKeyIndexName, supportsShardKey, type ShardKey } from '../../mongo/shard-key.ts';
import type { IndexSpec } from '../../mongo/specification.ts';

/** What an index has at least; old servers add two fields that mean nothing. */
const plainFields = new Set(['v', 'key', 'name', 'ns', 'background']);

/**
 * True for an index that is there for a shard key alone: on the key and nothing else, without any option, or the one that a
 * syncer makes where there is none.
 */
export function isOnShardKey(spec: IndexSpec, key: ShardKey): boolean {
  return (
    Object.keys(spec).every((field) => plainFields.has(field)) &&
    supportsShardKey(spec, key) &&
    (spec.name === shardKeyIndexName || spec.key.elements().length === key.length)
  );
}
