import type { UUID } from 'mongodb';
import { namespaceText } from '../../mongo/namespace.ts';
import { forEachAsGiven, forEachConcurrently } from '../../service/concurrency.ts';
import type { Logger } from '../../service/logger.ts';
import { catalogSideBySide, notThere } from '../destination/destination-catalog.ts';
import type { Destination } from '../destination/destination.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import type { Source } from '../source/source.ts';
import type { SyncRecord, TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';
import { PresentCollections } from './present-collections.ts';
import { shardCollection } from './shard-collection.ts';

/** What creating collections needs. */
interface CreatorParts {
  readonly source: Source;
  readonly destination: Destination;
  readonly catalog: TrackedCatalog;
  readonly store: WorkStore;
  readonly options: Pick<StartOptions, 'buildIndexes' | 'initialData'>;
  readonly logger: Logger;
}

/** Creates the collections and views of the source on the destination, in their replicated form. */
export class CollectionCreator {
  readonly #parts: CreatorParts;

  constructor(parts: CreatorParts) {
    this.#parts = parts;
  }

  /**
   * Reads the source's catalog and creates all selected collections and views on the destination, the first of them while
   * others are still being read. It fixes the start time first: every later change appears as a change event. When repeated
   * after a crash, it drops what it made before: nothing has been copied yet. A repair, and a start with `initialData: Present`,
   * keep what can be made equal to the source (see {@link PresentCollections}). The stored catalog belongs to this sync (see
   * {@link forgetAll}).
   * @returns what to store of it.
   * @throws SyncError DestinationNotEmpty if somebody else has made what is there.
   */
  async createAll(): Promise<Partial<SyncRecord>> {
    const { source, destination, catalog, store, options, logger } = this.#parts;
    const present = await this.#listPresent();
    if (!present) {
      await this.#dropAllMade();
      await this.forgetAll();
    }
    await store.resetInstances();

    const startTime = await source.majorityTime();
    const read = async (
      create: (tracked: TrackedCollection) => void,
    ): Promise<SyncRecord['catalogTimes']> =>
      await source.catalog.atOnce(async () => {
        const listings = await source.catalog.list(startTime);
        for (const view of listings.flatMap(({ views }) => views)) await catalog.putView(view);
        const all: TrackedCollection[] = [];
        for (const listing of listings) {
          for await (const tracked of source.catalog.trackListed(listing)) {
            if (present) {
              all.push(...tracked);
              continue;
            }
            // Stored first: after a crash between the two it is known to be the sync's.
            await catalog.put(...tracked);
            tracked.forEach(create);
          }
        }
        (await present?.settle(all))?.forEach(create);
        return listings.map(({ db, read: { at: time } }) => ({ db, time }));
      });
    const withIndexes = options.buildIndexes === 'beforeDataCopy';
    const catalogTimes = await this.#createAsRead(read, withIndexes, present);
    for (const { namespace, options: viewOptions } of catalog.views())
      await destination.views.createFirst(namespace, viewOptions);
    const collections = catalog.collections();
    logger.info(
      { collections: collections.length, views: catalog.views().length },
      'collections created',
    );
    const collectionCount = collections.length;
    const created = { startTime, catalogTimes, collectionCount, ownedUuids: null };
    if (store.live.current.repairs === 0) return created;
    const estimatedTotalBytes = collections.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    return { ...created, estimatedTotalBytes };
  }

  /**
   * Searches the selected collections of the source for documents that cannot both be on the destination, a replica set.
   * @throws SyncError DuplicateIds.
   */
  async requireNoDuplicateIds(): Promise<void> {
    const { source, destination, logger } = this.#parts;
    if (destination.sharding.shards.length > 0) return;
    const listings = await source.catalog.list(await source.majorityTime());
    await source.kind.requireNoDuplicateIds(listings.flatMap(({ infos }) => infos));
    logger.info('no documents share an _id');
  }

  /**
   * Forgets a stored catalog before a sync has stored its own: it belongs to another sync, whose record is gone, and what it
   * names may be in use. Nothing is dropped.
   */
  async forgetAll(): Promise<void> {
    const { catalog, destination } = this.#parts;
    const both = [catalog, destination.leftIndexes];
    await forEachConcurrently(both, both.length, async (stored) => {
      await stored.clear();
    });
  }

  /**
   * Creates a tracked collection on the destination in its replicated form, with its indexes, and shards it if requested. May
   * be repeated. Returns the collection with its UUID there.
   * @throws SyncError DestinationNotEmpty if somebody else has made what is there.
   */
  async create(tracked: TrackedCollection): Promise<TrackedCollection> {
    const { source, destination, logger } = this.#parts;
    const { namespace, indexes } = tracked;
    await destination.made.create(tracked);
    await destination.indexes.create(namespace, indexes);
    await shardCollection(source, destination, tracked, logger);
    const created = await destination.catalog.collectionAt(namespace);
    if (!created) throw notThere(namespace);
    return { ...tracked, destinationUuid: created.uuid };
  }

  /** Undefined if the destination has nothing to keep. */
  async #listPresent(): Promise<PresentCollections | undefined> {
    const { destination, options, store } = this.#parts;
    const { repairs, reversals, isPresentSettled } = store.live.current;
    // After a reversal the destination is the previous source: everything there is somebody's.
    const isRestored = options.initialData === 'Present' && reversals === 0;
    if (!isRestored && repairs === 0) return undefined;
    await destination.leftIndexes.clear();
    await store.forgetPartitions();
    return await PresentCollections.list(this.#parts, isRestored && !isPresentSettled);
  }

  async #createAsRead<R>(
    read: (create: (tracked: TrackedCollection) => void) => Promise<R>,
    withIndexes: boolean,
    present: PresentCollections | undefined,
  ): Promise<R> {
    const { source, destination, catalog, logger } = this.#parts;
    return await destination.together(async (concern) => {
      const result = await forEachAsGiven(read, catalogSideBySide, async (collection) => {
        const { namespace, indexes } = collection;
        if (collection.isAdopted) await present?.align(collection);
        else await destination.made.create(collection, concern);
        if (withIndexes) await destination.indexes.create(namespace, indexes, concern);
      });
      const created = catalog.collections();
      // One after the other: each locks its whole database.
      for (const collection of created)
        await shardCollection(source, destination, collection, logger);
      const uuids = new Map<string, UUID>();
      for (const db of new Set(created.map(({ namespace }) => namespace.db)))
        for (const info of await destination.catalog.list(db))
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
   * Drops what the sync has made of collections and views, many at a time, with a single wait for a majority.
   * @throws SyncError DestinationNotEmpty if somebody else has made what is there.
   */
  async #dropAllMade(): Promise<void> {
    const { destination, catalog } = this.#parts;
    const [collections, views] = [catalog.collections(), catalog.views()];
    if (collections.length + views.length === 0) return;
    await destination.together(async (concern) => {
      await forEachConcurrently(views, catalogSideBySide, async (view) => {
        await destination.views.dropMade(view, concern);
      });
      await forEachConcurrently(collections, catalogSideBySide, async (collection) => {
        await destination.made.drop(collection, concern);
      });
    });
  }
}
