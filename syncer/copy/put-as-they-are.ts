import { BSON } from 'mongodb';
import { idGroupsOf } from '../../mongo/id-groups.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { idElement, type RawDocument, type RawElement } from '../../mongo/raw-bson.ts';
import { decodeElement } from '../../mongo/raw-value.ts';
import { SyncError } from '../../service/errors.ts';
import type { Destination } from '../destination/destination.ts';
import { idsOf, type DocumentChange } from '../source/change-event.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';

/** How many refused updates a single read replaces with their documents. */
export const maxPutTogether = 500;

/**
 * Puts the documents of some changes as they are now on the source, whatever their shard keys, and removes any others with
 * their ids. If one is gone, its delete is still to come.
 * @throws SyncError DuplicateIds; OrphanInTheWay, which passes when the shard has removed what does not belong to it.
 */
export async function putAsTheyAre(
  source: Source,
  destination: Destination,
  collection: TrackedCollection,
  changes: readonly DocumentChange[],
): Promise<void> {
  await putIdsAsTheyAre(source, destination, collection, idsOf(changes));
}

/**
 * The same, by the documents' ids.
 * @throws SyncError DuplicateIds; OrphanInTheWay.
 */
export async function putIdsAsTheyAre(
  source: Source,
  destination: Destination,
  collection: TrackedCollection,
  ids: readonly RawElement[],
): Promise<void> {
  for (const group of idGroupsOf(ids)) {
    await source.kind.checkDuplicateIds(collection, group);
    await putTogether(source, destination, collection, group);
  }
}

/** Who follows documents as they are put. */
export interface PutFollower {
  /** Called once nothing on the destination has these ids. */
  deleted(ids: readonly RawElement[]): void;
  /** What the documents that were read wait for before they are written. */
  beforeInsert(documents: readonly RawDocument[]): Promise<void>;
}

/**
 * The same in a range that is compared again unless all of it succeeds. Documents that share an `_id` are all put if the shards of
 * the destination have room for them: if one is refused, the others may already be there, and no change event would bring it.
 * @throws SyncError DuplicateIds; OrphanInTheWay.
 */
export async function putComparedIds(
  source: Source,
  destination: Destination,
  collection: TrackedCollection,
  ids: readonly RawElement[],
  follower: PutFollower,
): Promise<void> {
  const check = async (checked: readonly RawElement[]): Promise<void> => {
    await source.kind.checkDuplicateIds(collection, checked);
  };
  const onTaken = async (taken: readonly RawDocument[]): Promise<void> => {
    await check(taken.map(idElement));
  };
  for (const group of idGroupsOf(ids)) {
    if (destination.kind.mergesShards(collection)) await check(group);
    await putTogether(source, destination, collection, group, { follower, onTaken });
  }
}

/**
 * Puts the documents of a sharded source whose `_id` the destination has refused, as they are on the source now, except those
 * that it has byte for byte: an earlier attempt has copied them. What else has the `_id` may be a document of another shard, and
 * be gone from there by now: then no change event delivers the refused one.
 * @throws SyncError DuplicateIds if both are there; OrphanInTheWay.
 */
export async function putUnlessEqual(
  source: Source,
  destination: Destination,
  collection: TrackedCollection,
  refused: readonly RawDocument[],
): Promise<void> {
  const unequal = await destination.documents.findUnequal(collection.namespace, refused);
  await putIdsAsTheyAre(source, destination, collection, unequal.map(idElement));
}

async function putTogether(
  source: Source,
  destination: Destination,
  collection: TrackedCollection,
  ids: readonly RawElement[],
  {
    follower,
    onTaken,
  }: Pick<InsertDeletedSettings, 'onTaken'> & { readonly follower?: PutFollower } = {},
): Promise<void> {
  await destination.documents.delete(collection, ids);
  follower?.deleted(ids);
  for await (const documents of source.documents.read(collection.uuid, ids)) {
    await follower?.beforeInsert(documents);
    await insertDeleted(destination, collection, documents, { onTaken });
  }
}

/** Settings for inserting what was deleted before. */
interface InsertDeletedSettings {
  readonly isInOrder?: boolean;
  /** Given what is refused all the same: it may throw why, if that is known better. */
  readonly onTaken?: ((taken: readonly RawDocument[]) => Promise<void>) | undefined;
}

/**
 * Inserts documents after everything with their ids was deleted, acknowledged by a majority.
 * @throws SyncError OrphanInTheWay if one is refused all the same: if it was skipped, the destination would lose it.
 */
export async function insertDeleted(
  { documents }: Destination,
  collection: TrackedCollection,
  deleted: readonly RawDocument[],
  { onTaken, ...settings }: InsertDeletedSettings = {},
): Promise<void> {
  const taken = await documents.insert(collection.namespace, deleted, settings);
  const [first] = taken;
  if (!first) return;
  await onTaken?.(taken);
  throw orphanError(collection, idElement(first));
}

/** The error for an `_id` that a shard refuses, though no document of that `_id` shows there. */
function orphanError({ namespace }: TrackedCollection, id: RawElement): SyncError {
  const _id = BSON.EJSON.stringify(decodeElement(id));
  return new SyncError(
    'OrphanInTheWay',
    `a shard of the destination rejects the _id ${_id} of ${namespaceText(namespace)}: an orphaned document of a migrated chunk has it`,
  );
}
