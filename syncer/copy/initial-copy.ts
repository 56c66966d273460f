import { namespaceText } from '../../mongo/namespace.ts';
import { isIdIndex } from '../../mongo/replicated-form.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { inGroupsOf } from '../../service/groups.ts';
import { catalogSideBySide, createIndexes } from '../destination/destination-catalog.ts';
import { retrying } from '../../mongo/retrying.ts';
import type { Partition, TrackedCollection } from '../store/records.ts';
import { isCopiedBy, type Share } from '../instances/share.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { copyRange, copyTogether } from './copy-range.ts';
import { farApart } from './far-apart.ts';
import { proveCopied } from './prove-copied.ts';
import { collectingRarely } from '../../service/rare-collection.ts';

/** Collections that are smaller than this are copied many at a time, and recorded as copied together. */
const smallBytes = 256 * 1024;
const smallTogether = 64;

/** One group is copied while another waits for a majority, and is recorded. */
const groupsSideBySide = 2;

/** How much garbage may be added before it is collected, in per cent of what lives on: decision 16. */
const growthPercent = 300;

interface CopyTask {
  readonly collection: TrackedCollection;
  readonly partition: Partition | 'all';
  readonly bytes: number;
}

/**
 * Copies what this instance copies of the collections that are not wholly on the destination yet, several at a time, the
 * largest first. What was completed before a crash is not copied again.
 */
export async function copyCollections(context: SyncContext): Promise<void> {
  const { catalog, store, tuning, logger, coordination, monitor } = context;
  const pending = catalog.collections().filter(({ isCopied }) => !isCopied);
  const partitions = await retrying(
    context,
    'copy state',
    async () => await store.readPartitions(),
  );
  const tasks = pending.flatMap((one) =>
    tasksOf(coordination.share, one, partitions.get(one.uuid.toHexString(false))),
  );
  tasks.sort((left, right) => right.bytes - left.bytes);
  monitor.copyTally.begin(tasks);
  const isSmall = ({ partition, bytes }: CopyTask): boolean =>
    partition === 'all' && bytes < smallBytes;
  const small = tasks.filter(isSmall);
  const large = tasks.filter((task) => !isSmall(task));
  const copyLarge = async ({ collection, partition }: CopyTask): Promise<void> => {
    const bytes = await copyRange(context, collection, partition);
    if (partition === 'all') {
      await complete(context, [collection], bytes);
      return;
    }
    await retrying(context, 'copy state', async () => {
      await store.completePartition(partition, bytes);
    });
    monitor.copyTally.endPart(collection.uuid);
    const { namespace } = collection;
    logger.debug({ namespace: namespaceText(namespace), bytes }, 'partition copied');
  };
  await collectingRarely(growthPercent, async () => {
    await forEachConcurrently(large, tuning.copyWorkers, copyLarge);
  });
  const copyGroup = async (group: readonly CopyTask[]): Promise<void> => {
    const collections = group.map(({ collection }) => collection);
    await complete(context, collections, await copyTogether(context, collections));
  };
  await forEachConcurrently(inGroupsOf(small, smallTogether), groupsSideBySide, copyGroup);
}

/**
 * Ends the copy, when all instances have copied their parts, and the stored state proves that these are everything: builds the
 * indexes where they come after the documents.
 * @param collectionCount - how many collections were to be copied.
 * @throws SyncError CopyIncomplete where the stored state does not prove it.
 */
export async function finishCopy(
  context: SyncContext,
  collectionCount: number | null,
): Promise<void> {
  const { catalog, options } = context;
  await proveCopied(context, collectionCount);
  await complete(
    context,
    catalog.collections().filter(({ isCopied }) => !isCopied),
    0,
  );
  if (options.buildIndexes === 'afterDataCopy') await buildAllIndexes(context);
}

/** Records that collections are wholly on the destination. */
async function complete(
  context: SyncContext,
  collections: readonly TrackedCollection[],
  bytes: number,
): Promise<void> {
  await retrying(context, 'copy state', async () => {
    await context.catalog.completeCollections(collections, bytes);
  });
  for (const { namespace, uuid } of collections) {
    context.monitor.copyTally.endPart(uuid);
    context.logger.debug({ namespace: namespaceText(namespace) }, 'collection copied');
  }
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

/** What this instance copies of a collection: of one that is not partitioned, all or nothing. */
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
