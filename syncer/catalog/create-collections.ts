import type { UUID } from 'mongodb';
import { listNamespaces } from '../../mongo/catalog.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { acknowledgedTogether } from '../../mongo/one-primary.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import type { TrackedCollection } from '../state/records.ts';
import {
  createIndexes,
  createUnlessThere,
  dropNamespace,
  notThere,
  type Destination,
} from './destination-catalog.ts';

/** More of them do not help: the server makes files one after the other. */
const sideBySide = 8;

/**
 * Creates tracked collections, many at a time, and their indexes where `withIndexes` is set: as `createCollection`, but
 * with one wait for a majority, and their UUIDs are listed together. May be repeated where nobody else creates
 * collections under these names.
 * @throws SyncError ClusterUnreachable when the primary has changed meanwhile.
 */
export async function createCollections(
  context: Destination,
  tracked: readonly TrackedCollection[],
  { withIndexes }: { readonly withIndexes: boolean },
): Promise<TrackedCollection[]> {
  const { destination, signal } = context;
  return await acknowledgedTogether(destination, signal, async (concern) => {
    await forEachConcurrently(tracked, sideBySide, async (collection) => {
      await createUnlessThere(context, collection, concern);
      if (withIndexes)
        await createIndexes(context, collection.namespace, collection.indexes, concern);
    });
    const uuids = new Map<string, UUID>();
    for (const db of new Set(tracked.map(({ namespace }) => namespace.db)))
      for (const info of await listNamespaces(destination, db, signal))
        if (info.kind === 'collection') uuids.set(namespaceText(info.namespace), info.uuid);
    return tracked.map((collection) => {
      const destinationUuid = uuids.get(namespaceText(collection.namespace));
      if (!destinationUuid) throw notThere(collection.namespace);
      return { ...collection, destinationUuid };
    });
  });
}

/** Drops collections and views, many at a time, with one wait for a majority. */
export async function dropNamespaces(
  context: Destination,
  namespaces: readonly Namespace[],
): Promise<void> {
  if (namespaces.length === 0) return;
  await acknowledgedTogether(context.destination, context.signal, async (concern) => {
    await forEachConcurrently(namespaces, sideBySide, async (namespace) => {
      await dropNamespace(context, namespace, concern);
    });
  });
}
