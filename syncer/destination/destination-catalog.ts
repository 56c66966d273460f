import type { Document, UUID, WriteConcernSettings } from 'mongodb';
import {
  findInDatabase,
  listIndexes,
  listNamed,
  listNamespaces,
  type CollectionInfo,
  type NamespaceInfo,
} from '../../mongo/catalog.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { isIdIndex, replicatedIndex } from '../../mongo/replicated-form.ts';
import { isSameNamespace, namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { codeOf, isIndexRefused, serverCode } from '../../mongo/server-errors.ts';
import { isSameSpec, type IndexSpec } from '../../mongo/specification.ts';
import { checkedWhenSent } from '../../mongo/write-guard.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { DestinationContext } from './destination-context.ts';

/** What changes of the destination's catalog need. */
export type Destination = Pick<
  DestinationContext,
  'destination' | 'signal' | 'logger' | 'options' | 'requireLease' | 'leftIndexes'
>;

/** What changing the catalog of the destination needs. */
export type Changing = Pick<DestinationContext, 'destination' | 'signal' | 'requireLease'>;

/** Small changes of the catalog that are under way together: with more, a server takes longer in all (decision 0017). */
export const catalogSideBySide = 8;

const majority: WriteConcernSettings = { w: 'majority' };

/** The error for a collection that was created, and is not listed then. */
export function notThere(namespace: Namespace): SyncError {
  return new SyncError('InternalError', `${namespaceText(namespace)} was created and is not there`);
}

/** Changes the destination's catalog, acknowledged by a majority. It takes as long as it takes. */
async function runChange(
  { destination, signal, requireLease }: Changing,
  db: string,
  change: Document,
  writeConcern = majority,
): Promise<void> {
  const command = checkedWhenSent({ ...change, writeConcern }, requireLease);
  await runCommand(destination.decoded.db(db), command, { signal, deadlineMs: 'none' });
}

/** Creates a collection or view of these options. */
export async function runCreate(
  context: Destination,
  { db, coll }: Namespace,
  options: Document,
  writeConcern = majority,
): Promise<void> {
  const run = async (): Promise<void> => {
    await runChange(context, db, { create: coll, ...options }, writeConcern);
  };
  try {
    await run();
  } catch (error) {
    const [, namesake] = /already have: \[(.+?)\]/.exec(messageOf(error)) ?? [];
    if (codeOf(error) !== serverCode.databaseDiffersInCase || namesake === undefined) throw error;
    await dropEmptyDatabase(context, namesake);
    await run();
  }
}

/**
 * Drops a database that has no collection left. The server keeps such a one open, and refuses another whose name differs
 * in case alone.
 */
async function dropEmptyDatabase(context: Destination, db: string): Promise<void> {
  if ((await listNamespaces(context.destination, db, context.signal)).length > 0) return;
  await runChange(context, db, { dropDatabase: 1 });
}

/** Drops a collection or view; one that is not there is as good as dropped. */
export async function dropNamespace(
  context: Omit<Destination, 'leftIndexes'>,
  { db, coll }: Namespace,
  writeConcern = majority,
): Promise<void> {
  await tolerating([serverCode.namespaceNotFound], async () => {
    await runChange(context, db, { drop: coll }, writeConcern);
  });
}

/**
 * Drops the collection of this UUID where it is.
 * @returns false where another stands there, or none.
 */
export async function dropCollection(
  context: Changing,
  { db, coll }: Namespace,
  collectionUUID: UUID,
  writeConcern = majority,
): Promise<boolean> {
  try {
    await runChange(context, db, { drop: coll, collectionUUID }, writeConcern);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code !== serverCode.namespaceNotFound && code !== serverCode.collectionUuidMismatch)
      throw error;
    return false;
  }
}

/**
 * Renames a collection of the destination. May be repeated: what counts is where the collection of this UUID is now.
 * @throws SyncError DestinationNotEmpty where something stands at the new name.
 */
export async function renameCollection(
  context: Destination,
  tracked: TrackedCollection,
  to: Namespace,
): Promise<void> {
  const now = await findInDatabase(
    context.destination,
    tracked.namespace,
    tracked.destinationUuid,
    context.signal,
  );
  if (!now)
    throw new SyncError(
      'InternalError',
      `${namespaceText(tracked.namespace)} is not on the destination`,
    );
  if (isSameNamespace(now.namespace, to)) return;
  try {
    await runChange(context, 'admin', {
      renameCollection: namespaceText(now.namespace),
      to: namespaceText(to),
    });
  } catch (error) {
    if (codeOf(error) !== serverCode.namespaceExists) throw error;
    throw madeByOthers(to);
  }
}

/** The error for what stands on the destination where the sync is about to put something, and is not the sync's. */
export function madeByOthers(namespace: Namespace): SyncError {
  return new SyncError(
    'DestinationNotEmpty',
    `${namespaceText(namespace)} was made on the destination since the start, and not by this sync`,
  );
}

/**
 * Creates indexes in their replicated form. One that the destination refuses is left to the commit: it cannot stand
 * beside another on the same keys while it is not unique, or documents are there that came after it was dropped.
 */
export async function createIndexes(
  context: Destination,
  namespace: Namespace,
  trueSpecs: readonly IndexSpec[],
  writeConcern = majority,
): Promise<void> {
  const specs = trueSpecs.filter((spec) => !isIdIndex(spec)).map(replicatedIndex);
  if (specs.length === 0 || context.options.buildIndexes === 'never') return;
  try {
    await runCreateIndexes(context, namespace, specs, { writeConcern });
  } catch (error) {
    if (!isIndexRefused(error)) throw error;
    for (const spec of specs) await createReplicatedIndex(context, namespace, spec);
  }
}

async function createReplicatedIndex(
  context: Destination,
  namespace: Namespace,
  spec: IndexSpec,
): Promise<void> {
  try {
    const present = await listIndexes(context.destination, namespace, context.signal);
    const sameName = present?.find(({ name }) => name === spec.name);
    // The same name with another specification: the events that made this one come later or are repeated.
    if (sameName && !isSameSpec(sameName, spec)) await dropIndex(context, namespace, spec.name);
    await runCreateIndexes(context, namespace, [spec]);
  } catch (error) {
    if (!isIndexRefused(error)) throw error;
    await context.leftIndexes.leave(namespace, spec.name, error);
    // Each shard builds it by itself: what others have made of it would refuse documents, and is not listed everywhere.
    if (context.destination.isSharded) await dropUnlessNeeded(context, namespace, spec.name);
    context.logger.debug(
      { namespace: namespaceText(namespace), index: spec.name, reason: messageOf(error) },
      'index is left to the commit',
    );
  }
}

/** Builds indexes as listIndexes shows them. */
export async function runCreateIndexes(
  context: Changing,
  { db, coll }: Namespace,
  indexes: readonly IndexSpec[],
  {
    collectionUUID,
    comment,
    writeConcern = majority,
  }: {
    readonly collectionUUID?: UUID | undefined;
    readonly comment?: string;
    readonly writeConcern?: WriteConcernSettings;
  } = {},
): Promise<void> {
  const command = {
    createIndexes: coll,
    indexes: indexes.map(withExplicitCollation),
    ...(collectionUUID ? { collectionUUID } : {}),
    ...(comment === undefined ? {} : { comment }),
  };
  await runChange(context, db, command, writeConcern);
}

/** Without a collation an index would get that of its collection. Version 1 knows none, and cannot stand in such a one. */
function withExplicitCollation(spec: IndexSpec): Document {
  if (spec['collation'] !== undefined || Number(spec['v']) < 2) return spec;
  return { ...spec, collation: { locale: 'simple' } };
}

/** Drops an index, other than one that the shard key needs: no document is refused by that. */
export async function dropUnlessNeeded(
  context: Changing,
  namespace: Namespace,
  name: string,
): Promise<boolean> {
  try {
    await dropIndex(context, namespace, name);
    return true;
  } catch (error) {
    if (codeOf(error) !== serverCode.cannotDropShardKeyIndex) throw error;
    return false;
  }
}

/** Drops an index; one that is not there is as good as dropped. */
export async function dropIndex(
  context: Changing,
  { db, coll }: Namespace,
  name: string,
): Promise<void> {
  await tolerating([serverCode.indexNotFound, serverCode.namespaceNotFound], async () => {
    await runChange(context, db, { dropIndexes: coll, index: name });
  });
}

/** Changes options of a collection or view. */
export async function modifyCollection(
  context: Changing,
  { db, coll }: Namespace,
  change: Document,
): Promise<void> {
  await runChange(context, db, { collMod: coll, ...change });
}

/** Makes a collection of the destination a capped one, which gives it another UUID there. */
export async function convertToCapped(
  context: Changing,
  { db, coll }: Namespace,
  size: unknown,
): Promise<void> {
  await runChange(context, db, { convertToCapped: coll, size });
}

/** The collection that stands at a namespace of the destination. */
export async function collectionAt(
  { destination, signal }: Pick<DestinationContext, 'destination' | 'signal'>,
  { db, coll }: Namespace,
): Promise<CollectionInfo | undefined> {
  const [found] = await listNamespaces(destination, db, signal, { name: coll });
  return found?.kind === 'collection' ? found : undefined;
}

/** What stands at a namespace of the destination: a collection, a view, or something else. */
export async function namespaceAt(
  { destination, signal }: Pick<DestinationContext, 'destination' | 'signal'>,
  { db, coll }: Namespace,
): Promise<NamespaceInfo | undefined> {
  const [found] = await listNamed(destination, db, [coll], signal);
  return found;
}

async function tolerating(codes: readonly number[], run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined || !codes.includes(code)) throw error;
  }
}
