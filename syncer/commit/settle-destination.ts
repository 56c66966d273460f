import { type Namespace, namespaceFrom, namespaceText } from '../../mongo/namespace.ts';
import { unevenIndexes } from '../../mongo/shard-indexes.ts';
import { type ShardKey, shardKeyDocument } from '../../mongo/shard-key.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import type { Logger } from '../../service/logger.ts';
import type { Destination } from '../destination/destination.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import { followsResharding } from '../ddl/follow-resharding.ts';
import { reshardedError } from '../source/sharded-source.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';

/** What settling sharded collections needs. */
interface SettlementParts {
  readonly source: Source;
  readonly destination: Destination;
  readonly catalog: TrackedCatalog;
  readonly store: WorkStore;
  readonly logger: Logger;
  readonly buildIndexes: StartOptions['buildIndexes'];
  /** How many collections to settle side by side. */
  readonly workers: number;
}

/** Settles what the commit does to sharded collections, before users write to them. */
export class ShardSettlement {
  readonly #parts: SettlementParts;

  constructor(parts: SettlementParts) {
    this.#parts = parts;
  }

  /**
   * Compares the shard keys of a sharded source, once its changes are applied, with those of the destination: no event reports
   * changes of them (6.0.5). A key that was refined is refined on the destination, too; on a replica set a warning remains. May
   * be repeated.
   * @throws SyncError ChangeNotSupported for a collection that was resharded.
   */
  async settleShardKeys(): Promise<void> {
    const { source, destination } = this.#parts;
    const keys = await source.kind.readShardKeys();
    const follows = await followsResharding(source, destination);
    const names = new Set([...keys.values()].map(({ namespace }) => namespace));
    for (const collection of this.#parts.catalog.collections()) {
      const { uuid, namespace, shardKey } = collection;
      if (shardKey === null) continue;
      const now = keys.get(uuid.toHexString(false))?.key;
      if (now === undefined) {
        // If nothing has its name, it was dropped after the commit's time; if resharding is followed, that came after it, too.
        if (!follows && names.has(namespaceText(namespace))) throw reshardedError(namespace);
      } else if (now.length > shardKey.length) {
        if (destination.kind.mergesShards(collection)) await this.#tellOfRefined(collection, now);
        else await this.#refine(collection, now);
      }
    }
  }

  async #refine(collection: TrackedCollection, key: ShardKey): Promise<void> {
    const { destination, catalog, logger } = this.#parts;
    const { namespace, indexes } = collection;
    await destination.sharding.supportShardKey({ namespace }, indexes, key);
    if (!(await destination.sharding.refine(namespace, key))) return;
    await catalog.put({ ...collection, shardKey: key });
    logger.info(
      { namespace: namespaceText(namespace), key: shardKeyDocument(key) },
      'shard key refined',
    );
  }

  /**
   * From then on, documents could share an `_id` that the previous key kept apart. Their changes were recognized by the new fields
   * (splitByShardKey), except those of documents that have none of them.
   */
  async #tellOfRefined(collection: TrackedCollection, key: ShardKey): Promise<void> {
    const { catalog, store } = this.#parts;
    await store.warn(
      `the shard key of ${namespaceText(collection.namespace)} was refined during the sync: verify the collection, as documents with the same _id could exist from then on, and their change events do not distinguish them`,
    );
    await catalog.put({ ...collection, shardKey: key });
  }

  /**
   * Settles which indexes a sharded collection of the destination should have: those that are the same on all shards of the
   * source. Any other is dropped, with a warning: other shards may have documents that it refused on one shard, and nothing
   * reports that. An index that some shards of the destination lack is dropped there, to be built again on all. May be repeated
   * until users may write.
   */
  async settleIndexes(): Promise<void> {
    const { source, destination, catalog, buildIndexes, workers } = this.#parts;
    if (buildIndexes === 'never') return;
    const keys = await source.kind.readShardKeys();
    await forEachConcurrently(
      catalog.collections().filter(({ shardKey }) => shardKey !== null),
      workers,
      async (collection) => {
        await destination.step('restore', async () => {
          // A collection that is gone by now had its indexes at the commit's time.
          const now = keys.get(collection.uuid.toHexString(false));
          const settled = now
            ? await this.#leaveOutUneven(collection, namespaceFrom(now.namespace))
            : collection;
          if (destination.kind.shardKeyOf(settled) !== null) await this.#dropUneven(settled);
        });
      },
    );
  }

  async #leaveOutUneven(
    collection: TrackedCollection,
    onSource: Namespace,
  ): Promise<TrackedCollection> {
    const { source, destination, catalog, store } = this.#parts;
    const uneven = await source.catalog.unevenIndexesOf(onSource);
    for (const [name, where] of uneven) {
      await store.warn(
        `index ${name} of ${namespaceText(collection.namespace)} is omitted: it is ${where} of the source`,
      );
    }
    const leftOut = collection.indexes.filter(({ name }) => uneven.has(name));
    if (leftOut.length === 0) return collection;
    for (const { name } of leftOut) await destination.sharding.dropIndex(collection, name);
    const indexes = collection.indexes.filter((spec) => !leftOut.includes(spec));
    const settled = { ...collection, indexes };
    await catalog.put(settled);
    return settled;
  }

  async #dropUneven(collection: TrackedCollection): Promise<void> {
    const { indexes, namespace } = collection;
    const { sharding } = this.#parts.destination;
    const uneven = unevenIndexes(await sharding.shardIndexesOf(namespace));
    for (const { name } of indexes)
      if (uneven.has(name)) await sharding.dropIndex(collection, name);
  }
}
