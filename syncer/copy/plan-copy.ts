import { locateCollection } from '../source/locate-collection.ts';
import { retrying } from '../../mongo/retrying.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { SyncContext } from '../context/sync-context.ts';
import {
  canPartition,
  partitionCount,
  splitCollection,
  type PartitionSettings,
} from '../source/split-points.ts';

/** Collections that are split at once: each sample is read and sorted by the source. */
const sideBySide = 8;

/**
 * Splits large collections into the partitions in which they are copied, and stores those: every instance goes by the same
 * ones. A collection that is gone by now stays in one piece.
 */
export async function planCopy(context: SyncContext): Promise<void> {
  const settings = partitionSettings(context);
  const large = context.catalog
    .collections()
    .filter((one) => partitionCount(one.sizeBytes, settings) > 1 && canPartition(one));
  await forEachConcurrently(large, sideBySide, async (collection) => {
    await retrying(context, 'partitioning', async () => {
      await planCollection(context, collection);
    });
  });
}

async function planCollection(context: SyncContext, collection: TrackedCollection): Promise<void> {
  // The name may be another collection's by now: its ids would split this one badly, though never wrongly.
  const now = await locateCollection(context, collection.uuid);
  if (!now) return;
  const count = partitionCount(collection.sizeBytes, partitionSettings(context));
  const named = { ...collection, namespace: now.namespace };
  const partitions = await splitCollection(context, named, count);
  context.requireLease();
  await context.store.putPartitions(collection.uuid, partitions);
}

function partitionSettings({
  tuning: { partitionMebibytes },
  coordination: { share },
}: SyncContext): PartitionSettings {
  return { partitionMebibytes, instances: share.count };
}
