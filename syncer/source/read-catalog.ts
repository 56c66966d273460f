import type { Timestamp } from 'mongodb';
import {
  isNoCollection,
  listIndexes,
  listNamed,
  listNamespaces,
  listUserDatabases,
  type CollectionInfo,
} from '../../mongo/catalog.ts';
import { later, latestWriteTime, majorityTime } from '../../mongo/cluster-time.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { oddNameError } from '../../mongo/specification.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { SyncError } from '../../service/errors.ts';
import { inGroupsOf } from '../../service/groups.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { SourceContext } from './source-context.ts';
import { readShardKeys, wantedShardKey } from './wanted-shard-key.ts';

/** Collections that are read together, and how many of their commands are under way. */
const readTogether = 32;
const readSideBySide = 16;

/** What reading the catalog of the source needs. */
type Reading = Pick<SourceContext, 'source' | 'options' | 'signal' | 'warn'>;
type SizeReading = Pick<SourceContext, 'source' | 'signal'>;

/** Cluster times before and after collections were listed. */
interface ReadTimes {
  readonly at: Timestamp;
  readonly by: Timestamp;
}

/** The selected collections of a database of the source. */
export interface Listing {
  readonly db: string;
  readonly infos: readonly CollectionInfo[];
  readonly read: ReadTimes;
}

/**
 * Lists the selected collections of the source. Its views are tracked at once.
 * @param startTime - nothing is older than that: change events begin there.
 * @throws SyncError TimeSeriesNotSupported, NameNotSupported where such a one was created since preflight.
 */
export async function listSource(context: SourceContext, startTime: Timestamp): Promise<Listing[]> {
  const { source, signal } = context;
  const listings: Listing[] = [];
  for (const db of await listUserDatabases(source, signal, startTime))
    listings.push(await listDatabase(context, db, startTime));
  return listings;
}

async function listDatabase(
  context: SourceContext,
  db: string,
  startTime: Timestamp,
): Promise<Listing> {
  const { source, filter, catalog, signal } = context;
  const at = later(await majorityTime(source, signal), startTime);
  const listed = await listNamespaces(source, db, signal, {}, at);
  const by = await latestWriteTime(source, signal);
  const infos: CollectionInfo[] = [];
  for (const info of listed) {
    if (!(await filter.selects(info.namespace))) continue;
    switch (info.kind) {
      case 'collection':
        infos.push(info);
        break;
      case 'view': {
        const { namespace, options } = info;
        await catalog.putView({ namespace, options, specifiedAt: at, specifiedBy: by });
        break;
      }
      case 'timeseries':
        throw timeSeriesError(info.namespace);
      case 'oddlyNamed':
        throw oddNameError(namespaceText(info.namespace));
    }
  }
  return { db, infos, read: { at, by } };
}

/** The error for a time-series collection that was created after the start. */
export function timeSeriesError(namespace: Namespace): SyncError {
  return new SyncError(
    'TimeSeriesNotSupported',
    `${namespaceText(namespace)} was created as a time-series collection during the sync: drop it on the source, or start again with it excluded`,
  );
}

/** Collections of a listing as the sync tracks them, some at a time. */
export async function* trackListed(
  context: Reading,
  { db, infos, read }: Listing,
): AsyncGenerator<TrackedCollection[]> {
  for (const group of inGroupsOf(infos, readTogether))
    yield await trackCollections(context, db, group, read);
}

/**
 * Collections of a database as the sync tracks them: options, indexes, size. Those are left out whose name has been given
 * to another collection since they were listed: change events tell the rest.
 */
export async function trackCollections(
  context: Reading,
  db: string,
  infos: readonly CollectionInfo[],
  read: ReadTimes,
): Promise<TrackedCollection[]> {
  const { source, signal } = context;
  const found: TrackedCollection[] = [];
  const shardKeys = await readShardKeys(
    context,
    infos.map(({ uuid }) => uuid),
  );
  await forEachConcurrently(infos, readSideBySide, async (info) => {
    const { namespace, uuid, options } = info;
    const reading = sizeOf(context, namespace);
    // An index whose name is not UTF-8 is in both: here it has a name.
    reading.catch(() => undefined);
    const indexes = await listIndexes(source, namespace, signal, read.at);
    const size = await reading;
    if (!indexes || !size) return;
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
      ...size,
      isCopied: false,
    });
  });
  const names = infos.map(({ namespace: { coll } }) => coll);
  const now = new Map(
    (await listNamed(source, db, names, signal, read.at)).map((info) => [
      info.namespace.coll,
      info,
    ]),
  );
  return found.filter(({ namespace, uuid }) => {
    const info = now.get(namespace.coll);
    return info?.kind === 'collection' && info.uuid.equals(uuid);
  });
}

/** Estimates the bytes of all selected collections of the source, by what its servers count. */
export async function estimateTotalBytes(
  reading: SizeReading & Pick<SourceContext, 'filter'>,
): Promise<number> {
  const { source, filter, signal } = reading;
  let totalBytes = 0;
  for (const db of await listUserDatabases(source, signal)) {
    const selected: Namespace[] = [];
    for (const { kind, namespace } of await listNamespaces(source, db, signal))
      if (kind === 'collection' && (await filter.selects(namespace))) selected.push(namespace);
    await forEachConcurrently(selected, readSideBySide, async (namespace) => {
      const size = await sizeOf(reading, namespace);
      totalBytes += size?.sizeBytes ?? 0;
    });
  }
  return totalBytes;
}

/** How large a collection is, as its server counts. Undefined where none stands at the name by now. */
async function sizeOf(
  { source, signal }: SizeReading,
  { db, coll }: Namespace,
): Promise<Pick<TrackedCollection, 'sizeBytes' | 'documentCount'> | undefined> {
  try {
    // The cheaper one by far, as it leaves the indexes alone. Routers give it of a sharded collection only between two shard
    // keys ("keyPattern must equal shard key", mongos 3.0 to 8.0).
    if (source.isSharded) {
      const { size, count } = await runCommand(
        source.decoded.db(db),
        { collStats: coll },
        { signal },
      );
      return { sizeBytes: Number(size), documentCount: Number(count) };
    }
    const command = { dataSize: namespaceText({ db, coll }), estimate: true };
    const { size, numObjects } = await runCommand(source.decoded.db(db), command, { signal });
    return { sizeBytes: Number(size), documentCount: Number(numObjects) };
  } catch (error) {
    if (isNoCollection(error)) return undefined;
    throw error;
  }
}
