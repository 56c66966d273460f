import type { Timestamp, UUID } from 'mongodb';
import { findCollection, type CollectionInfo } from '../../mongo/catalog.ts';
import { readConfig } from '../../mongo/config-database.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { SyncError } from '../../service/errors.ts';
import { latestKnownTime } from './read-concern.ts';
import type { SourceContext } from './source-context.ts';

/** Searches after which a UUID that cannot be read is looked into: by the back-off between them, half a minute at most. */
const patientSearches = 8;

/**
 * The collection of a UUID on the source, whatever its name is by now; undefined when there is none. A router learns from a
 * read without the UUID where the collection is: with it, the shard that it asks by what it knew before refuses because
 * of the UUID, for ever (6.0.5).
 * @param attempt - how often it was found before, and could not be read.
 * @param after - a cluster time that it is looked for after, besides what is known.
 * @throws SyncError ChangeNotSupported where it is another collection by the config servers, and stays so.
 */
export async function locateCollection(
  context: Pick<SourceContext, 'source' | 'monitor' | 'signal'>,
  uuid: UUID,
  attempt = 0,
  after: Timestamp | null = null,
): Promise<CollectionInfo | undefined> {
  const { source, signal } = context;
  const found = await findCollection(source, uuid, signal, latestKnownTime(context, after));
  if (found && source.isSharded) {
    const { db, coll } = found.namespace;
    const read = { find: coll, limit: 1, singleBatch: true, projection: { _id: 1 } };
    await runCommand(source.decoded.db(db), read, { signal });
    if (attempt >= patientSearches) await requireAgreement(source, found, signal);
  }
  return found;
}

/**
 * A collection that is sharded while it is converted to capped, or converted on its primary shard alone, is one collection
 * there, and another by the config servers (6.0.5): no shard gives both.
 */
async function requireAgreement(
  source: SourceContext['source'],
  { namespace, uuid }: CollectionInfo,
  signal: AbortSignal,
): Promise<void> {
  const ns = namespaceText(namespace);
  const [row] = await readConfig(source, { find: 'collections', filter: { _id: ns } }, signal);
  const placed = row?.['uuid'] as UUID | undefined;
  if (placed === undefined || uuid.equals(placed)) return;
  throw new SyncError(
    'ChangeNotSupported',
    `${ns} is one collection on the primary shard of its database, and another by the config servers of the source: it can be read as neither`,
  );
}
