import type { CollectionInfo } from '../../mongo/catalog.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import type { Logger } from '../../service/logger.ts';
import { catalogSideBySide, type DestinationCatalog } from '../destination/destination-catalog.ts';
import { isSameView } from '../destination/destination-views.ts';
import { MadeCollections } from '../destination/made-collections.ts';
import type { SyncRecord, TrackedCollection, TrackedView } from '../store/records.ts';

/** What cleaning a destination needs. */
export interface Cleaning {
  /** The catalog of the destination. */
  readonly catalog: DestinationCatalog;
  readonly record: SyncRecord;
  readonly logger: Logger;
  /** Renews what the right to change the destination rests on. */
  readonly keepRight: () => Promise<void>;
}

/**
 * Drops on the destination what the sync has made, and nothing else: collections by their UUIDs, views where they are as the
 * sync has put them. What it cannot prove to be the sync's is left, and named in the log. May be repeated.
 */
export async function cleanDestination(
  cleaning: Cleaning,
  collections: readonly TrackedCollection[],
  views: readonly TrackedView[],
): Promise<void> {
  const dropped = { collections: 0, views: 0 };
  // Views first: they may be of what is dropped next.
  await forEachConcurrently(views, catalogSideBySide, async (view) => {
    await cleaning.keepRight();
    if (await dropView(cleaning, view)) dropped.views++;
  });
  await forEachConcurrently(collections, catalogSideBySide, async (collection) => {
    await cleaning.keepRight();
    if (await dropMade(cleaning, collection)) dropped.collections++;
  });
  cleaning.logger.info(dropped, 'destination cleaned');
}

async function dropMade(cleaning: Cleaning, collection: TrackedCollection): Promise<boolean> {
  for (;;) {
    const made = await findMade(cleaning, collection);
    if (!made) {
      await warnOfOther(cleaning, collection);
      return false;
    }
    // Where it has moved meanwhile it is looked for again.
    if (await cleaning.catalog.dropCollection(made.namespace, made.uuid)) return true;
  }
}

/** The collection that the sync has made for one of the source; undefined where it is gone, or not proven to be that. */
async function findMade(
  cleaning: Cleaning,
  tracked: TrackedCollection,
): Promise<CollectionInfo | undefined> {
  const { namespace, destinationUuid, options } = tracked;
  const { catalog, record } = cleaning;
  if (destinationUuid !== null) {
    const found = await catalog.find(tracked);
    if (found) return found;
  }
  const there = await catalog.collectionAt(namespace);
  if (!there) return undefined;
  // The sync was about to make it where nothing stood, and puts documents there only when its UUID is stored.
  if (destinationUuid === null)
    return (await new MadeCollections(catalog).isAsMade(there, tracked)) ? there : undefined;
  // The commit was about to store the UUID that the server has given it.
  const isConverted = record.phase === 'restoring' && options['clusteredIndex'] !== undefined;
  return isConverted && isTrue(options['capped']) && isTrue(there.options['capped'])
    ? there
    : undefined;
}

async function warnOfOther(cleaning: Cleaning, { namespace }: TrackedCollection): Promise<void> {
  if (!(await cleaning.catalog.collectionAt(namespace))) return;
  cleaning.logger.warn(
    { namespace: namespaceText(namespace) },
    'left on the destination: not the collection that the sync created',
  );
}

async function dropView(cleaning: Cleaning, { namespace, options }: TrackedView): Promise<boolean> {
  const there = await cleaning.catalog.namespaceAt(namespace);
  if (!there) return false;
  if (!isSameView(there, options)) {
    cleaning.logger.warn(
      { namespace: namespaceText(namespace) },
      'left on the destination: not the view that the sync created',
    );
    return false;
  }
  await cleaning.catalog.drop(namespace);
  return true;
}
