import { createCollection } from '../ddl/create-collections.ts';
import { copyCollection } from '../copy/initial-copy.ts';
import { retryingWrites } from '../destination/earlier-writes.ts';
import type { SyncContext } from '../context/sync-context.ts';

/**
 * Creates and copies the collections that a change event was about to add when the process ended, or the destination failed:
 * they are stored, so that the event, when it is applied once more, has nothing left to add.
 */
export async function finishCollections(context: SyncContext): Promise<void> {
  for (const collection of context.catalog.collections()) {
    if (collection.destinationUuid !== null && collection.isCopied) continue;
    await retryingWrites(context, 'catalog change', async () => {
      const created = await createCollection(context, collection);
      await context.catalog.put(created);
      if (!created.isCopied) await copyCollection(context, created);
    });
  }
}
