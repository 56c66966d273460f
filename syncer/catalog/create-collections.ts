import type { UUID } from 'mongodb';
import { listNamespaces } from '../../mongo/catalog.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { acknowledgedTogether } from '../../mongo/one-primary.ts';
import { forEachAsGiven, forEachConcurrently } from '../../service/concurrency.ts';
import type { TrackedCollection } from '../state/records.ts';
import type { SyncContext } from '../sync-context.ts';
import {
  catalogSideBySide,
  collectionAt,
  createIndexes,
  createUnlessThere,
  dropNamespace,
  notThere,
  requireEmpty,
  type Destination,
} from './destination-catalog.ts';
import { shardCollection } from './shard-collection.ts';

/**
 * Creates a tracked collection on the destination in its replicated form, with its indexes, and shards it where that is
 * asked for. May be repeated. Returns the collection with its UUID there.
 */
export async function createCollection(
  context: SyncContext,
  tracked: TrackedCollection,
): Promise<TrackedCollection> {
  await createUnlessThere(context, tracked);
  await createIndexes(context, tracked.namespace, tracked.indexes);
  await shardCollection(context, tracked);
  const created = await collectionAt(context, tracked.namespace);
  if (!created) throw notThere(tracked.namespace);
  return { ...tracked, destinationUuid: created.uuid };
}

/**
 * Creates collections while `read` gives them, many at a time, and their indexes where `withIndexes` is set: as
 * `createCollection`, but with one wait for a majority, and their UUIDs are listed together. May be repeated where nobody
 * else creates collections under these names.
 * @param read - puts collections into the catalog, then gives each of them to be created.
 * @returns what `read` returns.
 * @throws SyncError DestinationNotEmpty where documents are there: of somebody else, as none are copied before.
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
      if (!(await createUnlessThere(context, collection, concern)))
        await requireEmpty(context, collection.namespace);
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

/** Drops collections and views, many at a time, with one wait for a majority. */
export async function dropNamespaces(
  context: Destination,
  namespaces: readonly Namespace[],
): Promise<void> {
  if (namespaces.length === 0) return;
  await acknowledgedTogether(context.destination, context.signal, async (concern) => {
    await forEachConcurrently(namespaces, catalogSideBySide, async (namespace) => {
      await dropNamespace(context, namespace, concern);
    });
  });
}
