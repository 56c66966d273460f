import { majorityTime } from '../../mongo/cluster-time.ts';
import { underOnePrimary } from '../../mongo/one-primary.ts';
import type { SyncRecord } from '../state/records.ts';
import type { SyncContext } from '../sync-context.ts';
import { createCollections, dropNamespaces } from './create-collections.ts';
import { createView } from './destination-views.ts';
import { listSource, trackListed } from './read-catalog.ts';

/**
 * Reads the source's catalog and creates all selected collections and views on the destination, the first of them while
 * others are still read. The start time is fixed first: every change later than it is seen as a change event. When it is
 * repeated after a crash, what it made before is dropped: nothing has been copied yet.
 * @returns what is to be stored of it.
 */
export async function buildCatalog(
  context: SyncContext,
): Promise<Pick<SyncRecord, 'startTime' | 'catalogTimes' | 'collectionCount'>> {
  const { catalog, source, signal, logger } = context;
  const madeBefore = [...catalog.views(), ...catalog.collections()];
  await dropNamespaces(
    context,
    madeBefore.map(({ namespace }) => namespace),
  );
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
    await createView(context, namespace, options);
  const collections = catalog.collections();
  logger.info(
    { collections: collections.length, views: catalog.views().length },
    'collections created',
  );
  return { startTime, catalogTimes, collectionCount: collections.length };
}
