import type { Document, UUID } from 'mongodb';
import { findCollection } from '../../mongo/catalog.ts';
import { isAtMost, later, majorityTime } from '../../mongo/cluster-time.ts';
import { isSameNamespace, type Namespace, namespaceText } from '../../mongo/namespace.ts';
import { underOnePrimary } from '../../mongo/one-primary.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { shardKeyFrom } from '../../mongo/shard-key.ts';
import { decodeIndexSpec } from '../../mongo/specification.ts';
import { SyncError } from '../../service/errors.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { copyCollection } from '../copy/initial-copy.ts';
import { applyCreateIndexes, applyDropIndexes, applyModify } from './apply-modify.ts';
import { applyViewEvent } from './apply-view-event.ts';
import { createCollection } from './create-collections.ts';
import { fateOf } from './event-fate.ts';
import { shardCollection } from './shard-collection.ts';
import { collectionAt, renameCollection } from '../destination/destination-catalog.ts';
import { dropView } from '../destination/destination-views.ts';
import { dropMade } from '../destination/made-collections.ts';
import { requestedShardKey } from '../options/sharding-options.ts';
import type { CatalogEvent } from '../source/change-event.ts';
import { isOfOddName } from '../source/odd-names.ts';
import { trackCollections } from '../source/read-catalog.ts';
import { wantedShardKey } from '../source/wanted-shard-key.ts';
import type { TrackedCollection } from '../store/records.ts';

/**
 * Applies a change of the source's catalog to the destination. All changes before it have been applied. May be
 * repeated, over any later state of the catalog: what the state has in it already is left out.
 * @throws SyncError ChangeNotSupported for a change that cannot be followed; NameNotSupported.
 */
export async function applyCatalogEvent(context: SyncContext, event: CatalogEvent): Promise<void> {
  switch (fateOf(event.operation)) {
    case 'applied':
      if (!(await isOfOddName(context, event))) await apply(context, event);
      return;
    case 'passedOver':
      return;
    case 'refused':
      await refuse(context, event);
  }
}

async function refuse(
  { catalog, filter }: SyncContext,
  { operation, namespace, uuid }: CatalogEvent,
): Promise<void> {
  const tracked = uuid && catalog.collection(uuid.toHexString(false));
  if (!tracked && !(await filter.selects(namespace))) return;
  throw new SyncError(
    'ChangeNotSupported',
    `${operation} of ${namespaceText(namespace)} on the source cannot be followed`,
  );
}

async function apply(context: SyncContext, event: CatalogEvent): Promise<void> {
  if (event.operation === 'dropDatabase') {
    await applyDropDatabase(context, event);
    return;
  }
  if (event.uuid === undefined) {
    await applyViewEvent(context, event);
    return;
  }
  const tracked = context.catalog.collection(event.uuid.toHexString(false));
  switch (event.operation) {
    case 'create':
      if (!tracked) await applyCreate(context, event, event.uuid);
      return;
    case 'rename':
      await applyRename(context, event, event.uuid, tracked);
      return;
    case 'drop':
      if (tracked) await dropTracked(context, tracked);
      return;
    case 'createIndexes':
      if (tracked && isNews(tracked, event)) await applyCreateIndexes(context, event, tracked);
      return;
    case 'dropIndexes':
      if (tracked && isNews(tracked, event)) await applyDropIndexes(context, event, tracked);
      return;
    case 'modify':
      if (tracked && isNews(tracked, event)) await applyModify(context, event, tracked);
      return;
    case 'shardCollection':
      if (tracked?.shardKey === null) await applyShardCollection(context, event, tracked);
  }
}

/** Events of one transaction have one time: what is as old as the state may be missing in it, and does no harm twice. */
function isNews({ specifiedAt }: TrackedCollection, { time }: CatalogEvent): boolean {
  return isAtMost(specifiedAt, time);
}

/**
 * Collections that the server makes on the way to another: renaming into another database, or converting to capped.
 * They are copied when they get their name.
 */
function isTemporary({ coll }: Namespace, options: Document): boolean {
  return options['temp'] === true && /^tmp[A-Za-z0-9]{5}\./.test(coll);
}

async function applyCreate(context: SyncContext, event: CatalogEvent, uuid: UUID): Promise<void> {
  const { idIndex, ...options } = event.description as Record<string, unknown>;
  if (isTemporary(event.namespace, options) || !(await context.filter.selects(event.namespace)))
    return;
  // Dropped again before what stands there now was read or came: the events of this one are to be passed over.
  if (!(await makeRoom(context, event, event.namespace))) return;
  const { namespace } = event;
  const tracked: TrackedCollection = {
    uuid,
    namespace,
    destinationUuid: null,
    // A sharded source tells of it by another event.
    shardKey: await wantedShardKey(context, { uuid, namespace, options }, new Map()),
    options,
    indexes: idIndex instanceof RawValue ? [decodeIndexSpec(idIndex.bytes)] : [],
    namedAt: event.time,
    namedBy: event.time,
    replacedUuid: null,
    specifiedAt: event.time,
    sizeBytes: 0,
    documentCount: 0,
    isCopied: true,
  };
  // Stored first: after a crash between the two steps the collection is known to be ours.
  await context.catalog.put(tracked);
  await context.catalog.put(await createCollection(context, tracked));
}

/** The first document may be there by now: what is there already goes to where it belongs. */
async function applyShardCollection(
  context: SyncContext,
  { description, time }: CatalogEvent,
  tracked: TrackedCollection,
): Promise<void> {
  const { shardKey } = description;
  if (!(shardKey instanceof RawValue))
    throw new SyncError('InternalError', 'a shardCollection event without a shard key');
  const sharded = { ...tracked, shardKey: shardKeyFrom(shardKey.decode() as object) };
  await shardCollection(context, sharded);
  await context.catalog.put({ ...sharded, specifiedAt: time });
}

async function applyRename(
  context: SyncContext,
  event: CatalogEvent,
  uuid: UUID,
  known: TrackedCollection | undefined,
): Promise<void> {
  const { to } = event;
  if (to === undefined) throw new SyncError('InternalError', 'a rename event without a target');
  const isSelected = await context.filter.selects(to);
  // Also where the other one has a later name already: what stood here may have been made by an event before this one.
  const occupant = context.catalog.collectionAt(to);
  let tracked = known;
  let replacedUuid: UUID | null = null;
  if (occupant && (isDropTarget(event, occupant) || isGoneFrom(context, event, uuid, occupant))) {
    replacedUuid = occupant.uuid;
    // Stored before it is gone: whoever repeats this does not find it.
    if (tracked) {
      tracked = { ...tracked, replacedUuid };
      await context.catalog.put(tracked);
    }
    await dropTracked(context, occupant);
  }
  if (!tracked) {
    if (isSelected) await adopt(context, event, uuid, to, replacedUuid);
    return;
  }
  // It is repeated: the name is a later one.
  if (isAtMost(event.time, tracked.namedAt)) return;
  // Every shard that has a part of the collection tells of it.
  if (context.source.isSharded && isSameNamespace(to, tracked.namespace)) return;
  if (!isSameNamespace(event.namespace, tracked.namespace)) {
    // Read into the catalog after it.
    if (isAtMost(event.time, tracked.namedBy)) return;
    throw unexpected(event, `the collection is ${namespaceText(tracked.namespace)}`);
  }
  if (!isSelected) {
    await context.warn(
      `${namespaceText(event.namespace)} was renamed to ${namespaceText(to)}, outside the filter: dropped`,
    );
    await dropTracked(context, tracked);
    return;
  }
  if (!(await makeRoom(context, event, to))) {
    // It was dropped meanwhile, or has yet another name: it is taken up again by that event, then.
    await dropTracked(context, tracked);
    return;
  }
  if (context.destination.isSharded && event.namespace.db !== to.db) {
    // No sharded collection goes into another database, nor any to one whose primary shard is another (6.0).
    await dropTracked(context, tracked);
    await adopt(context, event, uuid, to, replacedUuid);
    return;
  }
  if (tracked.shardKey === null && requestedShardKey(context.options.sharding, to)) {
    await context.warn(
      `${namespaceText(event.namespace)} was renamed to ${namespaceText(to)}, which is to be sharded: it stays unsharded`,
    );
  }
  await renameCollection(context, tracked, to);
  // It is kept for good from then on.
  const { temp: _temp, ...options } = tracked.options;
  await context.catalog.put({
    ...tracked,
    options,
    namespace: to,
    namedAt: event.time,
    namedBy: event.time,
  });
}

/**
 * Makes sure that nothing stands under a name that an event gives to a collection: on the source nothing stood there then. A
 * view that stood there before is dropped: not all drops of views are told of (see settleViews).
 * @returns false where something stands there that came later: the catalog was read after the event, or events are repeated.
 * @throws SyncError InternalError when a collection stood there before; ChangeNotSupported when a sharded source has moved it.
 */
async function makeRoom(
  context: SyncContext,
  event: CatalogEvent,
  name: Namespace,
): Promise<boolean> {
  const { catalog, source } = context;
  const view = catalog.view(name);
  const since = catalog.collectionAt(name)?.namedBy ?? view?.specifiedBy;
  if (since === undefined) return true;
  if (isAtMost(event.time, since)) return false;
  if (view) {
    await dropView(context, name);
    await catalog.removeView(name);
    return true;
  }
  // Its collections are made again on another shard, and their documents do not show.
  if (event.operation === 'create' && source.isSharded) {
    throw new SyncError(
      'ChangeNotSupported',
      `the database ${name.db} was moved to another primary shard of the source: ${namespaceText(name)} is there a second time`,
    );
  }
  throw unexpected(event, `something stands at ${namespaceText(name)}`);
}

/** The destination's catalog is not what the events before this one lead to. */
function unexpected({ operation, namespace }: CatalogEvent, found: string): SyncError {
  return new SyncError(
    'InternalError',
    `${operation} of ${namespaceText(namespace)}, but ${found}`,
  );
}

/**
 * True for a collection that stood at a rename's target on a sharded source: the event of a shard that had no part of it
 * does not say that it was dropped.
 */
function isGoneFrom(
  { source }: SyncContext,
  { time }: CatalogEvent,
  uuid: UUID,
  occupant: TrackedCollection,
): boolean {
  return source.isSharded && !occupant.uuid.equals(uuid) && !isAtMost(time, occupant.namedBy);
}

/** True for the collection that stood at a rename's target and was dropped by it. */
function isDropTarget({ description }: CatalogEvent, { uuid }: TrackedCollection): boolean {
  const dropped = description['dropTarget'] as UUID | undefined;
  return dropped !== undefined && uuid.equals(dropped);
}

/**
 * Takes up a collection that comes under a selected name by a rename: it is copied from the source as it is now; the
 * change events since then apply over it.
 */
async function adopt(
  context: SyncContext,
  event: CatalogEvent,
  uuid: UUID,
  to: Namespace,
  replacedUuid: UUID | null,
): Promise<void> {
  // A primary that has just been elected may not know yet that a majority has the event.
  const time = later(await majorityTime(context.source, context.signal), event.time);
  const read = await underOnePrimary(context.source, context.signal, async () => {
    const info = await findCollection(context.source, uuid, context.signal, time);
    if (!info) return undefined;
    const times = { at: time, by: event.time };
    const [tracked] = await trackCollections(context, info.namespace.db, [info], times);
    return tracked;
  });
  // Gone by now, or with yet another name.
  if (!read || !(await makeRoom(context, event, to))) return;
  const tracked = { ...read, namespace: to, namedAt: event.time, replacedUuid };
  await context.catalog.put(tracked);
  const created = await createCollection(context, tracked);
  await context.catalog.put(created);
  await copyCollection(context, created);
}

async function dropTracked(context: SyncContext, tracked: TrackedCollection): Promise<void> {
  const { namespace } = tracked;
  if (!(await dropMade(context, tracked)) && (await collectionAt(context, namespace))) {
    await context.warn(
      `${namespaceText(namespace)} was dropped on the source, and is left on the destination: it is not the collection that the sync has made`,
    );
  }
  await context.catalog.remove(tracked.uuid);
}

async function applyDropDatabase(
  context: SyncContext,
  { namespace: { db }, time }: CatalogEvent,
): Promise<void> {
  for (const view of context.catalog.views()) {
    if (view.namespace.db !== db || !isAtMost(view.specifiedAt, time)) continue;
    await dropView(context, view.namespace);
    await context.catalog.removeView(view.namespace);
  }
}
