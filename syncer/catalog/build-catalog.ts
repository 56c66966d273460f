import type { Timestamp } from 'mongodb';
import {
  isNoCollection,
  listIndexes,
  listNamed,
  listNamespaces,
  listUserDatabases,
  type CollectionInfo,
} from '../../mongo/catalog.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { latestWriteTime, majorityTime } from '../../mongo/cluster-time.ts';
import { underOnePrimary } from '../../mongo/one-primary.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { oddNameError } from '../../mongo/specification.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { SyncError } from '../../service/errors.ts';
import type { CatalogTime, SyncRecord, TrackedCollection } from '../state/records.ts';
import type { SyncContext } from '../sync-context.ts';
import { createCollections, dropNamespaces } from './create-collections.ts';
import { createView } from './destination-views.ts';
import { readShardKeys, wantedShardKey } from './wanted-shard-key.ts';

/** Collections that are read together, and how many of their commands are under way. */
const readTogether = 32;
const readSideBySide = 16;

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
  const madeBefore = [...catalog.views(), ...catalog.collections()];
  await dropNamespaces(
    context,
    madeBefore.map(({ namespace }) => namespace),
  );
  await catalog.clear();
  await context.store.resetInstances();

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
  await catalog.put(...(await createCollections(context, catalog.collections(), { withIndexes })));
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
  const selected: CollectionInfo[] = [];
  const infos = await listNamespaces(source, db, signal);
  const readBy = await latestWriteTime(source, signal);
  for (const info of infos) {
    if (!(await filter.selects(info.namespace))) continue;
    switch (info.kind) {
      case 'collection':
        selected.push(info);
        break;
      case 'view':
        await catalog.putView({
          namespace: info.namespace,
          options: info.options,
          specifiedAt: time,
          specifiedBy: readBy,
        });
        break;
      case 'timeseries':
        // Preflight refused these: it was created since then.
        throw timeSeriesError(info.namespace);
      case 'oddlyNamed':
        throw oddNameError(namespaceText(info.namespace));
    }
  }
  const tracked: TrackedCollection[] = [];
  for (let first = 0; first < selected.length; first += readTogether) {
    const group = selected.slice(first, first + readTogether);
    tracked.push(...(await trackCollections(context, db, group, { at: time, by: readBy })));
  }
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
 * Collections of a database as the sync tracks them: options, indexes, size. Those are left out whose name has been given
 * to another collection since they were listed: change events tell the rest.
 * @param read - cluster times before and after the collections were listed.
 */
export async function trackCollections(
  context: Pick<SyncContext, 'source' | 'sourceShards' | 'options' | 'signal' | 'warn'>,
  db: string,
  infos: readonly CollectionInfo[],
  read: { readonly at: Timestamp; readonly by: Timestamp },
): Promise<TrackedCollection[]> {
  const { source, signal } = context;
  const found: TrackedCollection[] = [];
  const shardKeys = await readShardKeys(
    context,
    infos.map(({ uuid }) => uuid),
  );
  await forEachConcurrently(infos, readSideBySide, async (info) => {
    const { namespace, uuid, options } = info;
    const reading = statisticsOf(source, namespace, signal);
    // An index whose name is not UTF-8 is in both: here it has a name.
    reading.catch(() => undefined);
    const indexes = await listIndexes(source, namespace, signal);
    const statistics = await reading;
    if (!indexes || !statistics) return;
    found.push({
      uuid,
      namespace,
      destinationUuid: null,
      shardKey: await wantedShardKey(context, info, shardKeys),
      options,
      indexes,
      namedAt: read.at,
      namedBy: read.by,
      replacedUuid: null,
      specifiedAt: read.at,
      ...statistics,
      isCopied: false,
    });
  });
  const names = infos.map(({ namespace: { coll } }) => coll);
  const now = new Map(
    (await listNamed(source, db, names, signal)).map((info) => [info.namespace.coll, info]),
  );
  return found.filter(({ namespace, uuid }) => {
    const info = now.get(namespace.coll);
    return info?.kind === 'collection' && info.uuid.equals(uuid);
  });
}

/** Undefined where a view stands at the name by now. */
async function statisticsOf(
  { decoded }: ClusterClient,
  { db, coll }: Namespace,
  signal: AbortSignal,
): Promise<Pick<TrackedCollection, 'sizeBytes' | 'documentCount'> | undefined> {
  try {
    const { size, count } = await runCommand(decoded.db(db), { collStats: coll }, { signal });
    return { sizeBytes: Number(size), documentCount: Number(count) };
  } catch (error) {
    if (isNoCollection(error)) return undefined;
    throw error;
  }
}
