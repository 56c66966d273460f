import type { Document } from 'mongodb';
import { hashText } from '../../mongo/canonical-id.ts';
import { isUndivided, type Partition, type TrackedCollection } from '../store/records.ts';

/** Which part of the work an instance does: `index` of `count`, from 0 on. */
export interface Share {
  readonly index: number;
  readonly count: number;
}

/** True for the instance that copies a collection, or a partition of it. Others copy the next partitions. */
export function isCopiedBy(
  { index, count }: Share,
  { uuid }: Pick<TrackedCollection, 'uuid'>,
  partition: Partition | 'all',
): boolean {
  const place = partition === 'all' ? 0 : partition.index;
  return (hashText(uuid.toHexString(false)) + place) % count === index;
}

const documentOperations = ['insert', 'update', 'replace', 'delete'];

/**
 * What an instance asks of the change stream: every change of the catalog, and of the documents those that it applies. All
 * changes of an `_id` go to one instance, whichever shard it was on, by the hash that the server takes for numbers of any
 * type: so they stay in their order when a document goes to another shard. A collection whose changes have to follow each other
 * (isUndivided) belongs to one instance as a whole. Undefined where one instance applies all.
 */
export function changesOf(
  { index, count }: Share,
  collections: readonly TrackedCollection[],
): Document | undefined {
  if (count === 1) return undefined;
  const uuids = collections.filter(isUndivided).map(({ uuid }) => uuid);
  const subject = {
    $cond: [{ $in: ['$collectionUUID', uuids] }, '$collectionUUID', '$documentKey._id'],
  };
  const hash = { $mod: [{ $toHashedIndexKey: subject }, count] };
  // The remainder of a negative number is negative.
  const owner = { $mod: [{ $add: [hash, count] }, count] };
  return {
    $or: [{ operationType: { $nin: documentOperations } }, { $expr: { $eq: [owner, index] } }],
  };
}
