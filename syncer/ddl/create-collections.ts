import type { UUID } from 'mongodb';
import { listNamespaces } from '../../mongo/catalog.ts';
import { majorityTime } from '../../mongo/cluster-time.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { acknowledgedTogether, underOnePrimary } from '../../mongo/one-primary.ts';
import { forEachAsGiven, forEachConcurrently } from '../../service/concurrency.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { shardCollection } from './shard-collection.ts';
import {
  catalogSideBySide,
  collectionAt,
  createIndexes,
  type Destination,
  notThere,
} from '../destination/destination-catalog.ts';
import { createFirstView, dropViewMade } from '../destination/destination-views.ts';
import { createMade, dropMade } from '../destination/made-collections.ts';
import { listSource, trackListed } from '../source/read-catalog.ts';
import type { SyncRecord, TrackedCollection, TrackedView } from '../store/records.ts';

/**
 * Reads the source's catalog and creates all selected collections and views on the destination, the first of them while
 * others are still read. The start time is fixed first: every change later than it is seen as a change event. When it is
 * repeated after a crash, what it made before is dropped: nothing has been copied yet. The stored catalog is of this sync (see
 * {@link forgetFormerCatalog}).
 * @returns what is to be stored of it.
 * @throws SyncError DestinationNotEmpty where somebody else has made what stands there.
 */
export async function buildCatalog(
  context: SyncContext,
): Promise<Pick<SyncRecord, 'startTime' | 'catalogTimes' | 'collectionCount'>> {
  const { catalog, source, signal, logger } = context;
  await dropAllMade(context, catalog.collections(), catalog.views());
  await catalog.clear();
  await context.leftIndexes.clear();
  await context.store.resetInstances();

  const startTime = await majorityTime(source, signal);
  const withIndexes = context.options.buildIndexes === 'beforeDataCopy';
  const catalogTimes = await createCollections(
    context,
    async (create) =>
      await underOnePrimary(source, signal, async () => {
        const listings = await listSource(context, startTime);
        for (const listing of listings) {
          for await (const tracked of trackListed(context, listing)) {
            // Stored first: after a crash between the two it is known to be ours.
            await catalog.put(...tracked);
            tracked.forEach(create);
          }
        }
        return listings.map(({ db, read: { at: time } }) => ({ db, time }));
      }),
    { withIndexes },
  );
  for (const { namespace, options } of catalog.views())
    await createFirstView(context, namespace, options);
  const collections = catalog.collections();
  logger.info(
    { collections: collections.length, views: catalog.views().length },
    'collections created',
  );
  return { startTime, catalogTimes, collectionCount: collections.length };
}

/**
 * Forgets what is stored of a catalog before a sync has stored any: it is of another sync, whose record is gone, and what it
 * names may be in use. Nothing is dropped.
 */
export async function forgetFormerCatalog({ catalog, leftIndexes }: SyncContext): Promise<void> {
  await catalog.clear();
  await leftIndexes.clear();
}

/**
 * Creates a tracked collection on the destination in its replicated form, with its indexes, and shards it where that is
 * asked for. May be repeated. Returns the collection with its UUID there.
 * @throws SyncError DestinationNotEmpty where somebody else has made what stands there.
 */
export async function createCollection(
  context: SyncContext,
  tracked: TrackedCollection,
): Promise<TrackedCollection> {
  await createMade(context, tracked);
  await createIndexes(context, tracked.namespace, tracked.indexes);
  await shardCollection(context, tracked);
  const created = await collectionAt(context, tracked.namespace);
  if (!created) throw notThere(tracked.namespace);
  return { ...tracked, destinationUuid: created.uuid };
}

/**
 * Creates collections while `read` gives them, many at a time, and their indexes where `withIndexes` is set: as
 * `createCollection`, but with one wait for a majority, and their UUIDs are listed together. May be repeated.
 * @param read - puts collections into the catalog, then gives each of them to be created.
 * @returns what `read` returns.
 * @throws SyncError DestinationNotEmpty where somebody else has made what stands there.
 * @throws SyncError ClusterUnreachable when the primary has changed meanwhile.
 */
export async function createCollections<R>(
  context: SyncContext,
  read: (create: (tracked: TrackedCollection) => void) => Promise<R>,
  { withIndexes }: { readonly withIndexes: boolean },
): Promise<R> {
  const { catalog, destination, signal } = context;
  return await acknowledgedTogether(destination, signal, async (concern) => {
    const result = await forEachAsGiven(read, catalogSideBySide, async (collection) => {
      await createMade(context, collection, concern);
      if (withIndexes)
        await createIndexes(context, collection.namespace, collection.indexes, concern);
    });
    const created = catalog.collections();
    // One after the other: each takes locks of its whole database.
    for (const collection of created) await shardCollection(context, collection);
    const uuids = new Map<string, UUID>();
    for (const db of new Set(created.map(({ namespace }) => namespace.db)))
      for (const info of await listNamespaces(destination, db, signal))
        if (info.kind === 'collection') uuids.set(namespaceText(info.namespace), info.uuid);
    const placed = created.map((collection) => {
      const destinationUuid = uuids.get(namespaceText(collection.namespace));
      if (!destinationUuid) throw notThere(collection.namespace);
      return { ...collection, destinationUuid };
    });
    await catalog.put(...placed);
    return result;
  });
}

/**
 * Drops what the sync has made of collections and views, many at a time, with one wait for a majority.
 * @throws SyncError DestinationNotEmpty where somebody else has made what stands there.
 */
export async function dropAllMade(
  context: Destination,
  collections: readonly TrackedCollection[],
  views: readonly TrackedView[],
): Promise<void> {
  if (collections.length + views.length === 0) return;
  await acknowledgedTogether(context.destination, context.signal, async (concern) => {
    await forEachConcurrently(views, catalogSideBySide, async (view) => {
      await dropViewMade(context, view, concern);
    });
    await forEachConcurrently(collections, catalogSideBySide, async (collection) => {
      await dropMade(context, collection, concern);
    });
  });
}
