import { namespaceText } from '../../mongo/namespace.ts';
import { isIdIndex } from '../../mongo/replicated-form.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { catalogSideBySide, createIndexes } from '../catalog/destination-catalog.ts';
import { retrying } from '../../mongo/retrying.ts';
import type { Partition, TrackedCollection } from '../state/records.ts';
import { locateCollection } from '../catalog/locate-collection.ts';
import type { SyncContext } from '../sync-context.ts';
import { copyRange, copyTogether } from './copy-range.ts';
import { collectingRarely } from './rare-collection.ts';
import { canPartition, partitionCount, splitCollection } from './split-points.ts';

/** Collections that are smaller than this are copied many at a time, and recorded as copied together. */
const smallBytes = 256 * 1024;
const smallTogether = 64;

interface CopyTask {
  readonly collection: TrackedCollection;
  readonly partition: Partition | 'all';
  readonly bytes: number;
}

/**
 * Copies every collection that is not wholly on the destination yet, several at a time, the largest first, and builds
 * the indexes where they come after the documents. What was completed before a crash is not copied again.
 */
export async function copyCollections(context: SyncContext): Promise<void> {
  const { catalog, store, logger, tuning } = context;
  const pending = catalog.collections().filter(({ isCopied }) => !isCopied);
  const tasks = (await Promise.all(pending.map(async (one) => await tasksOf(context, one)))).flat();
  const openPartitions = new Map<string, number>();
  for (const { collection } of tasks) {
    const key = collection.uuid.toHexString(false);
    openPartitions.set(key, (openPartitions.get(key) ?? 0) + 1);
  }
  const complete = async (collections: TrackedCollection[], bytes: number): Promise<void> => {
    await retrying(context, 'copy state', async () => {
      await catalog.completeCollections(collections, bytes);
    });
    for (const { namespace } of collections)
      logger.debug({ namespace: namespaceText(namespace) }, 'collection copied');
  };
  // A collection whose last partition was completed just before a crash.
  for (const collection of pending) {
    if (!openPartitions.has(collection.uuid.toHexString(false))) await complete([collection], 0);
  }
  tasks.sort((left, right) => right.bytes - left.bytes);
  const isSmall = ({ partition, bytes }: CopyTask): boolean =>
    partition === 'all' && bytes < smallBytes;
  const small = tasks.filter(isSmall);
  const large = tasks.filter((task) => !isSmall(task));
  const copyLarge = async ({ collection, partition }: CopyTask): Promise<void> => {
    const bytes = await copyRange(context, collection, partition);
    if (partition === 'all') {
      await complete([collection], bytes);
      return;
    }
    await retrying(context, 'copy state', async () => {
      await store.completePartition(partition, bytes);
    });
    const key = collection.uuid.toHexString(false);
    const open = (openPartitions.get(key) ?? 1) - 1;
    openPartitions.set(key, open);
    if (open === 0) await complete([collection], 0);
  };
  await collectingRarely(async () => {
    await forEachConcurrently(large, tuning.copyWorkers, copyLarge);
  });
  for (let first = 0; first < small.length; first += smallTogether) {
    const group = small.slice(first, first + smallTogether).map(({ collection }) => collection);
    await complete(group, await copyTogether(context, group));
  }
  if (context.options.buildIndexes === 'afterDataCopy') await buildAllIndexes(context);
}

/** Copies one collection as a whole, now. */
export async function copyCollection(
  context: SyncContext,
  collection: TrackedCollection,
): Promise<void> {
  const bytes = await copyRange(context, collection, 'all', { isRepeated: true });
  await retrying(context, 'copy state', async () => {
    await context.catalog.completeCollections([collection], bytes);
  });
}

async function tasksOf(context: SyncContext, collection: TrackedCollection): Promise<CopyTask[]> {
  const { sizeBytes } = collection;
  const whole: CopyTask = { collection, partition: 'all', bytes: sizeBytes };
  const count = partitionCount(sizeBytes, context.tuning.partitionMebibytes * 1024 * 1024);
  if (count === 1 || !canPartition(collection)) return [whole];
  const partitions = await retrying(
    context,
    'partitioning',
    async () => await partitionsOf(context, collection),
  );
  if (partitions === undefined) return [whole];
  return partitions.map((partition) => ({ collection, partition, bytes: sizeBytes / count }));
}

async function partitionsOf(
  context: SyncContext,
  collection: TrackedCollection,
): Promise<Partition[] | undefined> {
  const stored = await context.store.readPartitions(collection.uuid);
  if (stored) return stored;
  // The name may be another collection's by now: its ids would split this one badly, though never wrongly.
  const now = await locateCollection(context, collection.uuid);
  if (!now) return undefined;
  const partitions = await splitCollection(context, { ...collection, namespace: now.namespace });
  await context.store.putPartitions(collection.uuid, partitions);
  return partitions;
}

async function buildAllIndexes(context: SyncContext): Promise<void> {
  const { catalog, monitor, logger, tuning } = context;
  const collections = catalog.collections();
  const countOf = ({ indexes }: TrackedCollection): number =>
    indexes.filter((index) => !isIdIndex(index)).length;
  const total = collections.reduce((sum, collection) => sum + countOf(collection), 0);
  monitor.beginIndexBuilding(collections.length, total);
  try {
    const build = async (collection: TrackedCollection): Promise<void> => {
      await retrying(context, 'index build', async () => {
        await createIndexes(context, collection.namespace, collection.indexes);
      });
      monitor.addIndexesBuilt(countOf(collection));
      logger.debug({ namespace: namespaceText(collection.namespace) }, 'indexes built');
    };
    const isSmall = ({ sizeBytes }: TrackedCollection): boolean => sizeBytes < smallBytes;
    const large = collections.filter((collection) => !isSmall(collection));
    await forEachConcurrently(large, tuning.copyWorkers, build);
    await forEachConcurrently(collections.filter(isSmall), catalogSideBySide, build);
  } finally {
    monitor.indexBuilding = null;
  }
  logger.info({ indexes: total }, 'indexes built');
}
