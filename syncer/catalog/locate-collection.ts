import type { UUID } from 'mongodb';
import { findCollection, type CollectionInfo } from '../../mongo/catalog.ts';
import { runCommand } from '../../mongo/run-command.ts';
import type { SyncContext } from '../sync-context.ts';

/**
 * The collection of a UUID on the source, whatever its name is by now; undefined when there is none. A router learns from a
 * read without the UUID where the collection is: with it, the shard that it asks by what it knew before refuses because
 * of the UUID, for ever (6.0.5).
 */
export async function locateCollection(
  { source, sourceShards, signal }: Pick<SyncContext, 'source' | 'sourceShards' | 'signal'>,
  uuid: UUID,
): Promise<CollectionInfo | undefined> {
  const found = await findCollection(source, uuid, signal);
  if (found && sourceShards.length > 0) {
    const { db, coll } = found.namespace;
    const read = { find: coll, limit: 1, singleBatch: true, projection: { _id: 1 } };
    await runCommand(source.decoded.db(db), read, { signal });
  }
  return found;
}
