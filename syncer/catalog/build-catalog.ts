import type { Timestamp } from 'mongodb';
import {
  listIndexes,
  listNamespaces,
  listUserDatabases,
  type CollectionInfo,
} from '../../mongo/catalog.ts';
import { runCommand } from '../../mongo/cluster-client.ts';
import { latestWriteTime, majorityTime } from '../../mongo/cluster-time.ts';
import { underOnePrimary } from '../../mongo/one-primary.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { SyncError } from '../../service/errors.ts';
import type { CatalogTime, SyncRecord, TrackedCollection } from '../state/records.ts';
import type { SyncContext } from '../sync-context.ts';
import { createCollection, createView, dropNamespace } from './destination-catalog.ts';

/** Collections created on the destination side by side. */
const concurrency = 16;

/**
 * Reads the source's catalog and creates all selected collections and views on the destination.
 * The start time is fixed first: every change later than it is seen as a change event. When it is repeated after a
 * crash, what it made before is dropped: nothing has been copied yet.
 * @returns what is to be stored of it.
 */
export async function buildCatalog(
  context: SyncContext,
): Promise<Pick<SyncRecord, 'startTime' | 'catalogTimes' | 'estimatedTotalBytes'>> {
  const { catalog, source, signal, logger } = context;
  for (const { namespace } of [...catalog.views(), ...catalog.collections()])
    await dropNamespace(context, namespace);
  await catalog.clear();
  await context.store.resetInstance();

  const startTime = await majorityTime(source, signal);
  const catalogTimes = await underOnePrimary(
    source,
    signal,
    async () => await trackDatabases(context),
  );
  const estimatedTotalBytes = catalog
    .collections()
    .reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const withIndexes = context.options.buildIndexes === 'beforeDataCopy';
  const created: TrackedCollection[] = [];
  await forEachConcurrently(catalog.collections(), concurrency, async (collection) => {
    created.push(await createCollection(context, collection, { withIndexes }));
  });
  await catalog.put(...created);
  for (const { namespace, options } of catalog.views())
    await createView(context, namespace, options);
  logger.info(
    {
      collections: catalog.collections().length,
      views: catalog.views().length,
      estimatedTotalBytes,
    },
    'collections created',
  );
  return { startTime, catalogTimes, estimatedTotalBytes };
}

async function trackDatabases(context: SyncContext): Promise<CatalogTime[]> {
  const { source, catalog, signal } = context;
  const catalogTimes: CatalogTime[] = [];
  for (const db of await listUserDatabases(source, signal)) {
    const time = await majorityTime(source, signal);
    catalogTimes.push({ db, time });
    await catalog.put(...(await trackDatabase(context, db, time)));
  }
  return catalogTimes;
}

async function trackDatabase(
  context: SyncContext,
  db: string,
  time: Timestamp,
): Promise<TrackedCollection[]> {
  const { source, filter, catalog, signal } = context;
  const tracked: TrackedCollection[] = [];
  const infos = await listNamespaces(source, db, signal);
  const readBy = await latestWriteTime(source, signal);
  await forEachConcurrently(infos, concurrency, async (info) => {
    if (!(await filter.selects(info.namespace))) return;
    switch (info.kind) {
      case 'collection': {
        const collection = await trackCollection(context, info, { at: time, by: readBy });
        if (collection) tracked.push(collection);
        return;
      }
      case 'view':
        await catalog.putView({
          namespace: info.namespace,
          options: info.options,
          specifiedAt: time,
          specifiedBy: readBy,
        });
        return;
      case 'timeseries':
        // Preflight refused these: it was created since then.
        throw timeSeriesError(info.namespace);
    }
  });
  return tracked;
}

/** The error for a time-series collection that was created after the start. */
export function timeSeriesError(namespace: Namespace): SyncError {
  return new SyncError(
    'TimeSeriesNotSupported',
    `${namespaceText(namespace)} was created as a time-series collection during the sync: drop it on the source, or start again with it excluded`,
  );
}

/**
 * A collection as the sync tracks it: options, indexes, size. Undefined when the name has been given to another
 * collection since it was listed: change events tell the rest.
 * @param read - cluster times before and after the collection was listed.
 */
export async function trackCollection(
  { source, signal }: Pick<SyncContext, 'source' | 'signal'>,
  info: CollectionInfo,
  read: { readonly at: Timestamp; readonly by: Timestamp },
): Promise<TrackedCollection | undefined> {
  const { db, coll } = info.namespace;
  const indexes = await listIndexes(source, info.namespace, signal);
  const statistics = await runCommand(source.decoded.db(db), { collStats: coll }, { signal });
  // By the name alone, which the server looks up; by more it goes through the whole database.
  const [now] = await listNamespaces(source, db, signal, { name: coll });
  if (!indexes || now?.kind !== 'collection' || !now.uuid.equals(info.uuid)) return undefined;
  return {
    uuid: info.uuid,
    namespace: info.namespace,
    destinationUuid: null,
    options: info.options,
    indexes,
    namedAt: read.at,
    namedBy: read.by,
    specifiedAt: read.at,
    sizeBytes: Number(statistics['size']),
    documentCount: Number(statistics['count']),
    isCopied: false,
  };
}
