import { namespaceText } from '../../mongo/namespace.ts';
import { isIdIndex } from '../../mongo/replicated-form.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { inGroupsOf } from '../../service/groups.ts';
import type { Logger } from '../../service/logger.ts';
import { withHeapGrowth } from '../../service/heap-growth.ts';
import { catalogSideBySide } from '../destination/destination-catalog.ts';
import type { Destination } from '../destination/destination.ts';
import { isCopiedBy, type Share } from '../instances/coordination.ts';
import type { WorkPace } from '../limits/pace.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { Comparison } from '../options/command-bodies.ts';
import type { CopyConcurrency } from '../options/copy-concurrency.ts';
import type { Source } from '../source/source.ts';
import { canPartition, partitionCount } from '../source/split-points.ts';
import type { Partition, TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';
import { RangeCopier } from './copy-range.ts';
import { CopyProver } from './copy-proof.ts';

/** Smaller collections are copied many at a time, and recorded as copied together. */
const smallBytes = 256 * 1024;
const smallTogether = 64;

/** One group is copied while another waits for a majority, and is recorded. */
const groupsSideBySide = 2;

/** By how much the heap may grow before garbage is collected, in percent of the live data: decision 16. */
const growthPercent = 300;

/** How many collections are split at a time: the source reads and sorts a sample for each. */
const splitSideBySide = 8;

/** How much to copy at a time, and which share. */
export interface CopySettings {
  readonly concurrency: CopyConcurrency;
  readonly partitionMebibytes: number;
  /** This instance's part of the copy. */
  readonly share: Share;
}

/** The parts that the copy needs. */
interface CopyParts {
  readonly source: Source;
  readonly destination: Destination;
  readonly catalog: TrackedCatalog;
  readonly store: WorkStore;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly pace: WorkPace;
  readonly settings: CopySettings;
}

interface CopyTask {
  readonly collection: TrackedCollection;
  readonly partition: Partition | 'all';
  readonly bytes: number;
}

/** The initial copy of the documents, and the copy of collections that come to the catalog later. */
export class InitialCopy {
  readonly #parts: CopyParts;
  readonly #copier: RangeCopier;
  readonly #prover: CopyProver;

  constructor(parts: CopyParts) {
    const { source, destination, monitor, logger, settings } = parts;
    const { concurrency } = settings;
    this.#parts = parts;
    const comparison = (): Comparison => parts.store.live.current.comparison;
    const copying = { monitor, logger, concurrency, pace: parts.pace, comparison };
    this.#copier = new RangeCopier(source, destination, copying);
    this.#prover = new CopyProver(this.#copier, parts.catalog, parts.store, concurrency.workers);
  }

  /**
   * Splits large collections into the partitions in which they are copied, and stores these, so that every instance uses the
   * same ones. A collection that is gone by now stays in one piece.
   */
  async plan(): Promise<void> {
    const { catalog, settings } = this.#parts;
    const { partitionMebibytes, share } = settings;
    const limits = { partitionMebibytes, instances: share.count };
    const countOf = (one: TrackedCollection): number => partitionCount(one, limits);
    const large = catalog.collections().filter((one) => countOf(one) > 1 && canPartition(one));
    await forEachConcurrently(large, splitSideBySide, async (collection) => {
      await this.#partition(collection, countOf(collection));
    });
  }

  /**
   * Copies this instance's share of the collections that are not wholly on the destination yet, several at a time, the largest
   * first. What was completed before a crash is not copied again.
   */
  async run(): Promise<void> {
    const { catalog, store, logger, monitor, settings } = this.#parts;
    const pending = catalog.collections().filter(({ isCopied }) => !isCopied);
    const partitions = await store.readPartitions();
    const tasks = pending.flatMap((one) =>
      tasksOf(settings.share, one, partitions.get(one.uuid.toHexString(false))),
    );
    tasks.sort((left, right) => right.bytes - left.bytes);
    monitor.copyTally.begin(tasks);
    const isSmall = ({ partition, bytes }: CopyTask): boolean =>
      partition === 'all' && bytes < smallBytes;
    const small = tasks.filter(isSmall);
    const large = tasks.filter((task) => !isSmall(task));
    const { workers, readers } = settings.concurrency;
    const isPresent = ({ collection }: CopyTask): boolean => collection.isAdopted;
    const copyLarge = async ({ collection, partition }: CopyTask): Promise<void> => {
      const bytes = await this.#copier.copyRange(collection, partition);
      if (partition === 'all') {
        await this.#complete([collection], bytes);
        return;
      }
      await store.completePartition(partition, bytes);
      monitor.copyTally.endPart(collection.uuid);
      const { namespace } = collection;
      logger.debug({ namespace: namespaceText(namespace), bytes }, 'partition copied');
    };
    await withHeapGrowth(growthPercent, async () => {
      await forEachConcurrently(large.filter(isPresent), workers, copyLarge);
      const absent = large.filter((task) => !isPresent(task));
      await forEachConcurrently(absent, readers, copyLarge);
    });
    const copyGroup = async (group: readonly CopyTask[]): Promise<void> => {
      const collections = group.map(({ collection }) => collection);
      await this.#complete(collections, await this.#copier.copyTogether(collections));
    };
    await forEachConcurrently(inGroupsOf(small, smallTogether), groupsSideBySide, copyGroup);
  }

  /**
   * Ends the copy, once all instances have copied their shares and the stored state proves that nothing is missing: builds the
   * indexes if they come after the documents.
   * @param collectionCount - how many collections were to be copied.
   * @throws SyncError CopyIncomplete if the stored state does not prove it.
   */
  async finish(
    collectionCount: number | null,
    buildIndexes: 'beforeDataCopy' | 'afterDataCopy' | 'never',
  ): Promise<void> {
    await this.#prover.prove(collectionCount);
    const partitioned = this.#parts.catalog.collections().filter(({ isCopied }) => !isCopied);
    if (partitioned.length > 0) await this.#complete(partitioned, 0);
    if (buildIndexes === 'afterDataCopy') await this.#buildAllIndexes();
  }

  /**
   * Makes sure, only from the stored state, that collections that came to the catalog after the initial copy were copied, too.
   * @throws SyncError CopyIncomplete.
   */
  async requireAllCopied(): Promise<void> {
    await this.#prover.requireAllCopied();
  }

  /** Copies one collection as a whole, now. */
  async copyCollection(collection: TrackedCollection): Promise<void> {
    const bytes = await this.#copier.copyRange(collection, 'all', { isRepeated: true });
    await this.#parts.store.completeCollections([collection], bytes);
  }

  async #partition(collection: TrackedCollection, count: number): Promise<void> {
    const { source, store, logger } = this.#parts;
    const partitions = await source.ask('partitioning', async () => {
      // Another collection may have the name by now: its ids would split this one badly, though never wrongly.
      const now = await source.catalog.locate(collection.uuid);
      if (!now) return undefined;
      return await source.documents.split({ ...collection, namespace: now.namespace }, count);
    });
    if (!partitions) return;
    await store.putPartitions(collection, partitions);
    const namespace = namespaceText(collection.namespace);
    logger.debug({ namespace, partitions: partitions.length }, 'partitioned');
  }

  /** Records that collections are wholly on the destination. */
  async #complete(collections: readonly TrackedCollection[], bytes: number): Promise<void> {
    const { store, monitor, logger } = this.#parts;
    await store.completeCollections(collections, bytes);
    for (const { namespace, uuid } of collections) {
      monitor.copyTally.endPart(uuid);
      logger.debug({ namespace: namespaceText(namespace) }, 'collection copied');
    }
  }

  async #buildAllIndexes(): Promise<void> {
    const { catalog, destination, monitor, logger, settings } = this.#parts;
    const collections = catalog.collections();
    const countOf = ({ indexes }: TrackedCollection): number =>
      indexes.filter((index) => !isIdIndex(index)).length;
    const total = collections.reduce((sum, collection) => sum + countOf(collection), 0);
    monitor.beginIndexBuilding(collections.length, total);
    try {
      const build = async (collection: TrackedCollection): Promise<void> => {
        await destination.indexes.createAfterCopy(collection);
        monitor.addIndexesBuilt(countOf(collection));
        logger.debug({ namespace: namespaceText(collection.namespace) }, 'indexes built');
      };
      const isSmall = ({ sizeBytes }: TrackedCollection): boolean => sizeBytes < smallBytes;
      const large = collections.filter((collection) => !isSmall(collection));
      await forEachConcurrently(large, settings.concurrency.workers, build);
      await forEachConcurrently(collections.filter(isSmall), catalogSideBySide, build);
    } finally {
      monitor.indexBuilding = null;
    }
    logger.info({ indexes: total }, 'indexes built');
  }
}

/** This instance's part of a collection: of one that is not partitioned, all or nothing. */
function tasksOf(
  share: Share,
  collection: TrackedCollection,
  partitions: readonly Partition[] | undefined,
): CopyTask[] {
  const { sizeBytes } = collection;
  const tasks: CopyTask[] = partitions?.map((partition) => ({
    collection,
    partition,
    bytes: sizeBytes / partitions.length,
  })) ?? [{ collection, partition: 'all', bytes: sizeBytes }];
  const own = tasks.filter(({ partition }) => isCopiedBy(share, collection, partition));
  return collection.shardKey === null ? own : farApart(own);
}

const goldenRatio = (Math.sqrt(5) - 1) / 2;

/**
 * Reorders parts of a collection, which are in the order of `_id`, so that those that come soon after each other are far apart,
 * however the collection is cut into chunks: if a shard key rises or falls with `_id`, all shards have something to write from
 * the beginning. The places of any number of first parts are spread evenly (a sequence of multiples of the golden ratio).
 */
export function farApart<T>(ordered: readonly T[]): T[] {
  const turns = ordered
    .map((_, turn) => ({ turn, place: (turn * goldenRatio) % 1 }))
    .sort((one, other) => one.place - other.place)
    .map(({ turn }) => turn);
  return ordered
    .map((part, index) => ({ part, turn: turns[index] ?? 0 }))
    .sort((one, other) => one.turn - other.turn)
    .map(({ part }) => part);
}
