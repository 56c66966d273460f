import { arrayDocuments } from '../../mongo/raw-bson.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { shardKeyIndexName } from '../../mongo/shard-key.ts';
import { decodeIndexSpec, type IndexSpec } from '../../mongo/specification.ts';
import { createIndexes } from '../destination/destination-catalog.ts';
import { dropIndexOf } from './shard-collection.ts';
import { checkUniqueIndexes } from './shard-key-conflicts.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { SyncContext } from '../context/sync-context.ts';
import type { CatalogEvent } from '../source/change-event.ts';

/** Creates indexes of a tracked collection. @throws SyncError IncompatibleUniqueIndex; NameNotSupported. */
export async function applyCreateIndexes(
  context: SyncContext,
  event: CatalogEvent,
  tracked: TrackedCollection,
): Promise<void> {
  const created = indexesOf(event).filter(({ name }) => name !== shardKeyIndexName);
  if (tracked.shardKey) checkUniqueIndexes(tracked.namespace, created, tracked.shardKey);
  const names = new Set(created.map(({ name }) => name));
  await createIndexes(context, tracked.namespace, created);
  const indexes = [...tracked.indexes.filter(({ name }) => !names.has(name)), ...created];
  await context.catalog.put({ ...tracked, indexes, specifiedAt: event.time });
}

/** Drops indexes of a tracked collection. */
export async function applyDropIndexes(
  context: SyncContext,
  event: CatalogEvent,
  tracked: TrackedCollection,
): Promise<void> {
  const names = new Set(indexesOf(event).map(({ name }) => name));
  // The one of the sync that is reversed: the destination may need its own.
  if (!tracked.indexes.some(({ name }) => name === shardKeyIndexName))
    names.delete(shardKeyIndexName);
  for (const name of names) await dropIndexOf(context, tracked, name);
  const indexes = tracked.indexes.filter(({ name }) => !names.has(name));
  await context.catalog.put({ ...tracked, indexes, specifiedAt: event.time });
}

function indexesOf({ description, namespace }: CatalogEvent): IndexSpec[] {
  const indexes: unknown = description['indexes'];
  return indexes instanceof RawValue
    ? arrayDocuments({ bytes: indexes.bytes, offset: 0 }).map((bytes) =>
        decodeIndexSpec(bytes, namespace),
      )
    : [];
}
