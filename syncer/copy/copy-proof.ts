import type { Document } from 'mongodb';
import { encodeSpec } from '../../mongo/specification.ts';
import type { CopyEvidence, Partition, StoredPartition } from '../store/records.ts';

/** What the store proves of the copy of a collection. */
export type CopyProof =
  | { readonly kind: 'proven' }
  /** These ranges are missing from the partitions, or not recorded as copied; `recorded` is how many partitions there are. */
  | { readonly kind: 'gaps'; readonly gaps: readonly Partition[]; readonly recorded: number }
  /** Nothing is recorded of any part, or what is recorded contradicts itself. */
  | { readonly kind: 'nothing'; readonly reason: string };

/**
 * Judges the copy of a collection by what is stored of it alone. One that was not partitioned is recorded as a whole. Of one
 * that was, every partition is recorded as copied, the first is open below, the last open above, and each begins with the
 * bound that ends the one before. Such a chain leaves no `_id` out, in whatever order the server compares them: the first bound
 * that an `_id` is below, or else the open end, ends the range that it is in. So neither the order of BSON types nor that of a
 * collation has to be known here.
 */
export function proofOf({ collection, isCopied, partitions }: CopyEvidence): CopyProof {
  if (partitions === null)
    return isCopied
      ? { kind: 'proven' }
      : { kind: 'nothing', reason: 'it is not recorded as copied' };
  const gaps: Partition[] = [];
  let last: StoredPartition | undefined;
  for (const partition of [...partitions].sort((left, right) => left.index - right.index)) {
    const next = last === undefined ? 0 : last.index + 1;
    const isJoined =
      last === undefined ? partition.min === null : isSameBound(last.max, partition.min);
    if (!isJoined) {
      // With an index left out there is a record missing between the two; otherwise they cannot both be right.
      const isHole = partition.index > next && last?.max !== null && partition.min !== null;
      if (!isHole) return contradiction(last, partition);
      gaps.push({ collection, index: next, min: last?.max ?? null, max: partition.min });
    }
    if (!partition.isCopied) gaps.push(rangeOf(partition));
    last = partition;
  }
  if (last?.max !== null)
    gaps.push({
      collection,
      index: last === undefined ? 0 : last.index + 1,
      min: last?.max ?? null,
      max: null,
    });
  return gaps.length === 0
    ? { kind: 'proven' }
    : { kind: 'gaps', gaps, recorded: partitions.length };
}

function contradiction(last: StoredPartition | undefined, { index }: StoredPartition): CopyProof {
  const reason =
    last === undefined
      ? `partition ${index} is the first and is not open below`
      : `partition ${index} does not begin where partition ${last.index} ends`;
  return { kind: 'nothing', reason };
}

function rangeOf({ collection, index, min, max }: StoredPartition): Partition {
  return { collection, index, min, max };
}

/** Two bounds between partitions; an open end joins nothing. */
function isSameBound(left: Document | null, right: Document | null): boolean {
  if (left === null || right === null) return false;
  return Buffer.compare(encodeSpec(left), encodeSpec(right)) === 0;
}
