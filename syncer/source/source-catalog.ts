import type { Document, Timestamp, UUID } from 'mongodb';
import {
  type CollectionInfo,
  findCollection,
  listIndexes,
  listNamed,
  listNamespaces,
  listUserDatabases,
  type NamespaceInfo,
  type ViewInfo,
} from '../../mongo/catalog.ts';
import { requireSupported, unsupportedReason } from '../../mongo/collection-options.ts';
import { later, latestWriteTime, majorityTime } from '../../mongo/cluster-time.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import type { NamespaceFilter } from '../../mongo/namespace-filter.ts';
import { type Namespace, namespaceText } from '../../mongo/namespace.ts';
import { underOnePrimary } from '../../mongo/one-primary.ts';
import { readShardIndexes, unevenIndexes } from '../../mongo/shard-indexes.ts';
import { oddNameError } from '../../mongo/specification.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { SyncError } from '../../service/errors.ts';
import { inGroupsOf } from '../../service/groups.ts';
import type { TrackedCollection, TrackedView } from '../store/records.ts';
import type { CatalogEvent } from './change-event.ts';
import { type KnownTimes, latestKnownTime, sizeReaderOf, type SourceKind } from './source-kind.ts';

/** How many collections are read together, and how many of their commands run at a time. */
const readTogether = 32;
const readSideBySide = 16;

/** Cluster times before and after a listing of collections. */
interface ReadTimes {
  readonly at: Timestamp;
  readonly by: Timestamp;
}

/** The selected part of a database of the source. */
export interface Listing {
  readonly db: string;
  readonly infos: readonly CollectionInfo[];
  readonly views: readonly TrackedView[];
  readonly read: ReadTimes;
}

/** What reading the source's catalog needs. */
interface CatalogParts {
  readonly deployment: Deployment;
  readonly kind: SourceKind;
  readonly filter: NamespaceFilter;
  /** Of the destination's servers. */
  readonly destinationVersion: string;
  /** The latest known times of the source. */
  readonly known: KnownTimes;
  readonly signal: AbortSignal;
}

/** The catalog of the source: no read returns anything older than what is known of the source. */
export class SourceCatalog {
  readonly #parts: CatalogParts;

  constructor(parts: CatalogParts) {
    this.#parts = parts;
  }

  /** Runs catalog reads that belong together: see {@link underOnePrimary}. */
  async atOnce<T>(run: () => Promise<T>): Promise<T> {
    const { deployment, signal } = this.#parts;
    return await underOnePrimary(deployment, signal, run);
  }

  /**
   * Lists the selected collections and views.
   * @param startTime - nothing is older than that: change events begin there.
   * @throws SyncError TimeSeriesNotSupported, NameNotSupported, CollectionNotSupported if one of these was created since
   * preflight.
   */
  async list(startTime: Timestamp): Promise<Listing[]> {
    const { deployment, signal } = this.#parts;
    const listings: Listing[] = [];
    for (const db of await listUserDatabases(deployment, signal, startTime))
      listings.push(await this.#listDatabase(db, startTime));
    return listings;
  }

  /** The collections of a listing as the sync tracks them, a few at a time. */
  async *trackListed({ db, infos, read }: Listing): AsyncGenerator<TrackedCollection[]> {
    for (const group of inGroupsOf(infos, readTogether)) yield await this.#track(db, group, read);
  }

  /**
   * A collection as the sync tracks it now, for an event that has brought it into the filter; undefined if it is gone.
   * @throws SyncError CollectionNotSupported.
   */
  async trackNow(uuid: UUID, eventTime: Timestamp): Promise<TrackedCollection | undefined> {
    const { deployment, destinationVersion, signal } = this.#parts;
    // A newly elected primary may not know yet that a majority has the event.
    const time = later(await majorityTime(deployment, signal), eventTime);
    return await this.atOnce(async () => {
      const info = await findCollection(deployment, uuid, signal, time);
      if (!info) return undefined;
      requireSupported(info.namespace, info.options, destinationVersion);
      const [tracked] = await this.#track(info.namespace.db, [info], { at: time, by: eventTime });
      return tracked;
    });
  }

  /**
   * Finds a collection by its UUID, whatever its name is now, and makes sure that it can be read by its UUID; undefined if
   * there is none.
   * @param searches - how often it was found before, and could not be read.
   * @param after - a cluster time that the search must not precede, in addition to what is known.
   * @throws SyncError ChangeNotSupported if it will never be readable.
   */
  async locate(
    uuid: UUID,
    searches = 0,
    after: Timestamp | null = null,
  ): Promise<CollectionInfo | undefined> {
    const { deployment, kind, known, signal } = this.#parts;
    const time = latestKnownTime(known, after);
    const found = await findCollection(deployment, uuid, signal, time);
    if (found) await kind.prepareReading(found, searches);
    return found;
  }

  /** What has a name now. */
  async namespaceNow({ db, coll }: Namespace): Promise<NamespaceInfo | undefined> {
    const { deployment, known, signal } = this.#parts;
    const [now] = await listNamed(deployment, db, [coll], signal, latestKnownTime(known));
    return now;
  }

  /** The views of a database, as of a time or later. */
  async viewsOf(db: string, after: Timestamp): Promise<ViewInfo[]> {
    const { deployment, signal } = this.#parts;
    const infos = await listNamespaces(deployment, db, signal, { type: 'view' }, after);
    return infos.filter((info) => info.kind === 'view');
  }

  /**
   * Whether to skip an event that gives a name that is not UTF-8, or is about a view with such a name: no view of that name is
   * known, though one here may have a name that resembles it.
   * @throws SyncError NameNotSupported if the name is selected, and what was created under it is still there.
   */
  async isOfOddName(event: CatalogEvent): Promise<boolean> {
    const { filter } = this.#parts;
    const { operation, namespace, to, uuid, givesOddName } = event;
    if (!givesOddName) return false;
    switch (operation) {
      case 'create':
        if (!(await filter.selects(namespace))) return true;
        if (await this.#isOddlyNamed(namespace)) throw oddNameError(namespaceText(namespace));
        return true;
      case 'rename':
        if (to && (await filter.selects(to))) throw oddNameError(namespaceText(to));
        return false;
      default:
        return uuid === undefined;
    }
  }

  /**
   * Whether to skip the creation of a collection with these options: it cannot be synced, and is gone by now.
   * @throws SyncError TimeSeriesNotSupported, CollectionNotSupported if something of that name is still there.
   */
  async isUnsupported(namespace: Namespace, options: Document): Promise<boolean> {
    const { destinationVersion } = this.#parts;
    // The event of a time-series collection is that of a view on its buckets.
    const isTimeSeries =
      options['timeseries'] !== undefined ||
      options['viewOn'] === `system.buckets.${namespace.coll}`;
    const reason = unsupportedReason(options, destinationVersion);
    if (!isTimeSeries && reason === undefined) return false;
    const now = await this.namespaceNow(namespace);
    if (isTimeSeries && now?.kind === 'timeseries') throw timeSeriesError(namespace);
    if (now?.kind === 'collection') requireSupported(namespace, now.options, destinationVersion);
    return true;
  }

  /**
   * Makes sure that the source has nothing whose name is not UTF-8: no change event reports a collection created under such a
   * name, nor its documents (6.0.5).
   * @param time - of the commit: what is read is not older.
   * @throws SyncError NameNotSupported.
   */
  async refuseOddNames(time: Timestamp): Promise<void> {
    const { deployment, filter, signal } = this.#parts;
    for (const db of await listUserDatabases(deployment, signal, time))
      for (const { kind, namespace } of await listNamespaces(deployment, db, signal, {}, time))
        if (kind === 'oddlyNamed' && (await filter.selects(namespace)))
          throw oddNameError(namespaceText(namespace));
  }

  /** The indexes of a sharded collection that differ between shards, and where they are: see {@link unevenIndexes}. */
  async unevenIndexesOf(namespace: Namespace): Promise<ReadonlyMap<string, string>> {
    const { deployment, signal } = this.#parts;
    const listed = (await listIndexes(deployment, namespace, signal)) ?? [];
    return unevenIndexes(await readShardIndexes(deployment, namespace, listed, signal));
  }

  async #listDatabase(db: string, startTime: Timestamp): Promise<Listing> {
    const { deployment, filter, destinationVersion, signal } = this.#parts;
    const at = later(await majorityTime(deployment, signal), startTime);
    const listed = await listNamespaces(deployment, db, signal, {}, at);
    const by = await latestWriteTime(deployment, signal);
    const infos: CollectionInfo[] = [];
    const views: TrackedView[] = [];
    for (const info of listed) {
      if (!(await filter.selects(info.namespace))) continue;
      switch (info.kind) {
        case 'collection':
          requireSupported(info.namespace, info.options, destinationVersion);
          infos.push(info);
          break;
        case 'view': {
          const { namespace, options } = info;
          views.push({ namespace, options, specifiedAt: at, specifiedBy: by });
          break;
        }
        case 'timeseries':
          throw timeSeriesError(info.namespace);
        case 'oddlyNamed':
          throw oddNameError(namespaceText(info.namespace));
      }
    }
    return { db, infos, views, read: { at, by } };
  }

  /**
   * Collections of a database as the sync tracks them: options, indexes, size. It leaves out those whose name was given to
   * another collection since the listing: change events report the rest.
   */
  async #track(
    db: string,
    infos: readonly CollectionInfo[],
    read: ReadTimes,
  ): Promise<TrackedCollection[]> {
    const { deployment, kind, signal } = this.#parts;
    const found: TrackedCollection[] = [];
    const shardKeys = await kind.readShardKeys(infos.map(({ uuid }) => uuid));
    await forEachConcurrently(infos, readSideBySide, async (info) => {
      const { namespace, uuid, options } = info;
      const reading = kind.sizeOf(namespace);
      // An index whose name is not UTF-8 is in both answers; that of listIndexes has its name.
      reading.catch(() => undefined);
      const indexes = await listIndexes(deployment, namespace, signal, read.at);
      const size = await reading;
      if (!indexes || !size) return;
      found.push({
        uuid,
        namespace,
        destinationUuid: null,
        shardKey: await kind.wantedShardKey(info, shardKeys),
        options,
        indexes,
        namedAt: read.at,
        namedBy: read.by,
        replacedUuid: null,
        specifiedAt: read.at,
        ...size,
        isAdopted: false,
        isCopied: false,
      });
    });
    const names = infos.map(({ namespace: { coll } }) => coll);
    const listed = await listNamed(deployment, db, names, signal, read.at);
    const now = new Map(listed.map((info) => [info.namespace.coll, info]));
    return found.filter(({ namespace, uuid }) => {
      const info = now.get(namespace.coll);
      return info?.kind === 'collection' && info.uuid.equals(uuid);
    });
  }

  async #isOddlyNamed({ db, coll }: Namespace): Promise<boolean> {
    const { deployment, known, signal } = this.#parts;
    const infos = await listNamespaces(deployment, db, signal, {}, latestKnownTime(known));
    return infos.some(({ kind, namespace }) => kind === 'oddlyNamed' && namespace.coll === coll);
  }
}

/** The error for a time-series collection that was created after the start. */
function timeSeriesError(namespace: Namespace): SyncError {
  return new SyncError(
    'TimeSeriesNotSupported',
    `${namespaceText(namespace)} was created as a time-series collection during the sync: drop it on the source, or start again with it excluded`,
  );
}

/** Estimates the bytes of all selected collections of a source, from its servers' own counts. */
export async function estimateTotalBytes({
  source,
  filter,
  signal,
}: {
  readonly source: Deployment;
  readonly filter: NamespaceFilter;
  readonly signal: AbortSignal;
}): Promise<number> {
  const sizeOf = sizeReaderOf(source, signal);
  let totalBytes = 0;
  for (const db of await listUserDatabases(source, signal)) {
    const selected: Namespace[] = [];
    for (const { kind, namespace } of await listNamespaces(source, db, signal))
      if (kind === 'collection' && (await filter.selects(namespace))) selected.push(namespace);
    await forEachConcurrently(selected, readSideBySide, async (namespace) => {
      const size = await sizeOf(namespace);
      totalBytes += size?.sizeBytes ?? 0;
    });
  }
  return totalBytes;
}
