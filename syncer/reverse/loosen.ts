import { listIndexes } from '../../mongo/catalog.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { isRefused } from '../../mongo/server-errors.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { messageOf } from '../../service/errors.ts';
import { collectionAt, modifyCollection } from '../destination/destination-catalog.ts';
import { dropIndexOf } from '../ddl/shard-collection.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { retryingWrites } from '../destination/earlier-writes.ts';
import { looseningOfIndexes, looseningOfOptions, type IndexChange } from './loosening-plan.ts';

/**
 * Gives every tracked collection of a destination that has its true characteristics, because it was the source before,
 * the replicated form. May be repeated from any point.
 */
export async function loosenCollections(context: SyncContext): Promise<void> {
  const { catalog, tuning } = context;
  await forEachConcurrently(catalog.collections(), tuning.copyWorkers, async (collection) => {
    await retryingWrites(context, 'reverse', async () => {
      await loosen(context, collection);
    });
  });
}

async function loosen(context: SyncContext, collection: TrackedCollection): Promise<void> {
  const { namespace } = collection;
  const present = (await listIndexes(context.destination, namespace, context.signal)) ?? [];
  for (const change of looseningOfIndexes(present)) {
    try {
      await modifyCollection(context, namespace, { index: change });
    } catch (error) {
      await dropInstead(context, collection, change, error);
    }
  }
  const info = await collectionAt(context, namespace);
  const change = looseningOfOptions(info?.options ?? {});
  if (change) await modifyCollection(context, namespace, change);
}

/** An index that the server does not loosen is dropped: the commit builds it again. */
async function dropInstead(
  context: SyncContext,
  collection: TrackedCollection,
  { name }: IndexChange,
  error: unknown,
): Promise<void> {
  if (!isRefused(error)) throw error;
  await context.leftIndexes.leave(collection.namespace, name, error);
  await dropIndexOf(context, collection, name);
  context.logger.debug(
    { namespace: namespaceText(collection.namespace), index: name, reason: messageOf(error) },
    'index is left to the commit',
  );
}
