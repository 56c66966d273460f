import { isTrue } from '../../mongo/replicated-form.ts';
import { isPlacedById } from '../../mongo/shard-key.ts';
import type { TrackedCollection } from './records.ts';

/**
 * True for a collection of the destination where a document may be on any shard, as far as its `_id` tells: the shard key
 * has other fields, or the ids are compared under a collation and the shard key is not.
 */
export function isScattered({
  shardKey,
  options,
}: Pick<TrackedCollection, 'shardKey' | 'options'>): boolean {
  return shardKey !== null && (options['collation'] !== undefined || !isPlacedById(shardKey));
}

/**
 * True for a collection whose changes are all applied one after the other: which ids the server takes for the same cannot be
 * told from them (under a collation), or the order of all documents counts (capped collections).
 */
export function isUndivided({ options }: Pick<TrackedCollection, 'options'>): boolean {
  return options['collation'] !== undefined || isTrue(options['capped']);
}
