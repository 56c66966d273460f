import { majorityTime } from '../../mongo/cluster-time.ts';
import { underOnePrimary } from '../../mongo/one-primary.ts';
import type { SyncRecord } from '../store/records.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { createCollections, dropAllMade } from './create-collections.ts';
import { createFirstView } from '../destination/destination-views.ts';
import { listSource, trackListed } from '../source/read-catalog.ts';

/**
 * Reads the source's catalog and creates all selected collections and views on the destination, the first of them while
 * others are still read. The start time is fixed first: every change later than it is seen as a change event. When it is
 * repeated after a crash, what it made before is dropped: nothing has been copied yet. The stored catalog is of this sync (see
 * {@link forgetFormerCatalog}).
 * @returns what is to be stored of it.
 * @throws SyncError DestinationNotEmpty where somebody else has made what stands there.
 */
export async function buildCatalog(
  context: SyncContext,
): Promise<Pick<SyncRecord, 'startTime' | 'catalogTimes' | 'collectionCount'>> {
  const { catalog, source, signal, logger } = context;
  await dropAllMade(context, catalog.collections(), catalog.views());
  await catalog.clear();
  await context.leftIndexes.clear();
  await context.store.resetInstances();

  const startTime = await majorityTime(source, signal);
  const withIndexes = context.options.buildIndexes === 'beforeDataCopy';
  const catalogTimes = await createCollections(
    context,
    async (create) =>
      await underOnePrimary(source, signal, async () => {
        const listings = await listSource(context, startTime);
        for (const listing of listings) {
          for await (const tracked of trackListed(context, listing)) {
            // Stored first: after a crash between the two it is known to be ours.
            await catalog.put(...tracked);
            tracked.forEach(create);
          }
        }
        return listings.map(({ db, read: { at: time } }) => ({ db, time }));
      }),
    { withIndexes },
  );
  for (const { namespace, options } of catalog.views())
    await createFirstView(context, namespace, options);
  const collections = catalog.collections();
  logger.info(
    { collections: collections.length, views: catalog.views().length },
    'collections created',
  );
  return { startTime, catalogTimes, collectionCount: collections.length };
}

/**
 * Forgets what is stored of a catalog before a sync has stored any: it is of another sync, whose record is gone, and what it
 * names may be in use. Nothing is dropped.
 */
export async function forgetFormerCatalog({ catalog, leftIndexes }: SyncContext): Promise<void> {
  await catalog.clear();
  await leftIndexes.clear();
}
