import type { DocumentChange } from '../source/change-event.ts';
import type { WriteBatch } from './coalesce.ts';

/** A batch of which some changes do not tell which document of their `_id` they are of. */
export interface SplitBatch extends WriteBatch {
  readonly unplaced: readonly DocumentChange[];
}

/**
 * Takes out the changes of a sharded collection whose events leave out the shard key. The document has none of its fields;
 * or the shard did not know the collection's placement at that moment, as when a chunk has just come to it or left it (seen
 * on 6.0.5: an update that changed the shard key, while chunks were moved). Which of the two it is the event does not say,
 * so that the document cannot be looked for by its shard key.
 */
export function withoutUnplaced({ writes, deletes }: WriteBatch): SplitBatch {
  const isPlaced = ({ key }: DocumentChange): boolean => key.placed !== undefined;
  return {
    writes: writes.filter(isPlaced),
    deletes: deletes.filter(isPlaced),
    unplaced: [...writes, ...deletes].filter((change) => !isPlaced(change)),
  };
}
