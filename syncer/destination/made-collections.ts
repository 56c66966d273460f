import type { WriteConcernSettings } from 'mongodb';
import { listIndexes, type CollectionInfo } from '../../mongo/catalog.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { isIdIndex, replicatedIndex, replicatedOptions } from '../../mongo/replicated-form.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { shardKeyIndexName } from '../../mongo/shard-key.ts';
import { isSameOptions, isSameSpec, type IndexSpec } from '../../mongo/specification.ts';
import { SyncError } from '../../service/errors.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { DestinationContext } from './destination-context.ts';
import {
  collectionAt,
  dropCollection,
  madeByOthers,
  namespaceAt,
  runCreate,
  type Changing,
  type Destination,
} from './destination-catalog.ts';

type Reading = Pick<DestinationContext, 'destination' | 'signal'>;

const majority: WriteConcernSettings = { w: 'majority' };

/**
 * Creates a tracked collection in its replicated form, without its indexes. May be repeated: what stands there is taken where
 * it is known by its UUID, or is without documents and of these options. The answer alone proves nothing: routers, and
 * servers from 7.0 on, say of what was there with the same options that it was created.
 * @throws SyncError DestinationNotEmpty where somebody else has made what stands there, or has written to it.
 */
export async function createMade(
  context: Destination,
  tracked: TrackedCollection,
  writeConcern = majority,
): Promise<void> {
  const { namespace, options, indexes, destinationUuid } = tracked;
  try {
    const replicated = { ...replicatedOptions(options), ...oldIdIndex(indexes) };
    await runCreate(context, namespace, replicated, writeConcern);
  } catch (error) {
    if (codeOf(error) !== serverCode.namespaceExists) throw error;
    const there = await collectionAt(context, namespace);
    if (!there) throw madeByOthers(namespace);
    if (destinationUuid?.equals(there.uuid)) return;
    if (!isOfOptions(there, tracked)) throw madeByOthers(namespace);
  }
  if (await isEmpty(context, tracked)) return;
  // Its documents are copied as soon as its UUID is stored.
  const now = destinationUuid && (await collectionAt(context, namespace));
  if (now && destinationUuid.equals(now.uuid)) return;
  throw new SyncError(
    'DestinationNotEmpty',
    `${namespaceText(namespace)} was written to on the destination since the start`,
  );
}

/**
 * Drops what the sync has made of a tracked collection, and nothing else; what has come in its place by somebody else stays.
 * @returns false where it is not there.
 * @throws SyncError DestinationNotEmpty where its UUID has not been stored yet, and what stands there may be somebody else's.
 */
export async function dropMade(
  context: Changing,
  tracked: TrackedCollection,
  writeConcern = majority,
): Promise<boolean> {
  const { namespace, destinationUuid } = tracked;
  if (destinationUuid !== null)
    return await dropCollection(context, namespace, destinationUuid, writeConcern);
  const there = await namespaceAt(context, namespace);
  if (!there) return false;
  if (there.kind !== 'collection' || !(await isAsMade(context, there, tracked)))
    throw madeByOthers(namespace);
  return await dropCollection(context, namespace, there.uuid, writeConcern);
}

/**
 * True where a collection is as the sync makes a tracked one, before it stores its UUID and puts documents there: it has no
 * documents, the same options, and no other indexes.
 */
export async function isAsMade(
  context: Reading,
  there: CollectionInfo,
  tracked: Pick<TrackedCollection, 'namespace' | 'options' | 'indexes'>,
): Promise<boolean> {
  if (!isOfOptions(there, tracked) || !(await isEmpty(context, there))) return false;
  const present = (await listIndexes(context.destination, there.namespace, context.signal)) ?? [];
  const made = tracked.indexes.map(replicatedIndex);
  const isForeign = present.some(
    (spec) =>
      !isIdIndex(spec) &&
      spec.name !== shardKeyIndexName &&
      !made.some((one) => one.name === spec.name && isSameSpec(one, spec)),
  );
  // It was asked by its name.
  const now = await collectionAt(context, there.namespace);
  return !isForeign && now?.uuid.equals(there.uuid) === true;
}

function isOfOptions(
  there: CollectionInfo,
  { options }: Pick<TrackedCollection, 'options'>,
): boolean {
  return isSameOptions(there.options, replicatedOptions(options));
}

async function isEmpty(
  { destination, signal }: Reading,
  { namespace: { db, coll } }: Pick<TrackedCollection, 'namespace'>,
): Promise<boolean> {
  const find = { find: coll, limit: 1, singleBatch: true, projection: { _id: 1 } };
  const { cursor } = await runCommand(destination.decoded.db(db), find, { signal });
  return (cursor as { readonly firstBatch: readonly unknown[] }).firstBatch.length === 0;
}

/** The index on _id where it is of a version that the server makes only when it is told to. */
function oldIdIndex(indexes: readonly IndexSpec[]): { readonly idIndex?: IndexSpec } {
  const idIndex = indexes.find((spec) => isIdIndex(spec) && Number(spec['v']) === 1);
  return idIndex === undefined ? {} : { idIndex };
}
