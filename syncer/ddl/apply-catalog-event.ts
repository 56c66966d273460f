import type { Document, UUID } from 'mongodb';
import { isAtMost } from '../../mongo/cluster-time.ts';
import { isSameNamespace, type Namespace, namespaceText } from '../../mongo/namespace.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { shardKeyFrom } from '../../mongo/shard-key.ts';
import { decodeIndexSpec } from '../../mongo/specification.ts';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { type CopySettings, InitialCopy } from '../copy/initial-copy.ts';
import type { Destination } from '../destination/destination.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { requestedShardKey, type StartOptions } from '../options/command-bodies.ts';
import type { CatalogEvent } from '../source/change-event.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';
import { applyCreateIndexes, applyDropIndexes, applyModify } from './apply-modify.ts';
import { ViewChanges } from './apply-view-event.ts';
import { CollectionCreator } from './create-collections.ts';
import { shardCollection } from './shard-collection.ts';

/** What changes of the catalog are applied by. */
interface ChangeParts {
  readonly source: Source;
  readonly destination: Destination;
  readonly catalog: TrackedCatalog;
  readonly store: WorkStore;
  readonly options: StartOptions;
  /** How collections are copied that come to the catalog later. */
  readonly settings: CopySettings;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
}

/** Applies changes of the source's catalog to the destination. */
export class CatalogChanges {
  readonly #parts: ChangeParts;
  readonly #source: Source;
  readonly #destination: Destination;
  readonly #catalog: TrackedCatalog;
  readonly #store: WorkStore;
  readonly #creator: CollectionCreator;
  readonly #copy: InitialCopy;
  readonly #views: ViewChanges;
  readonly #sharding: StartOptions['sharding'];
  readonly #logger: Logger;

  constructor(parts: ChangeParts) {
    const { source, destination, catalog, logger } = parts;
    this.#parts = parts;
    this.#source = source;
    this.#destination = destination;
    this.#catalog = catalog;
    this.#store = parts.store;
    this.#creator = new CollectionCreator(parts);
    this.#copy = new InitialCopy(parts);
    this.#views = new ViewChanges(source, destination, catalog, logger);
    this.#sharding = parts.options.sharding;
    this.#logger = logger;
  }

  /** The same, for work that a narrower signal ends. */
  within(signal: AbortSignal): CatalogChanges {
    const { source, destination, store } = this.#parts;
    return new CatalogChanges({
      ...this.#parts,
      source: source.within(signal),
      destination: destination.within(signal),
      store: store.within(signal),
    });
  }

  /**
   * Applies a change of the source's catalog to the destination. All changes before it have been applied. May be
   * repeated, over any later state of the catalog: what the state has in it already is left out.
   * @throws SyncError ChangeNotSupported for a change that cannot be followed; NameNotSupported.
   */
  async apply(event: CatalogEvent): Promise<void> {
    switch (fateOf(event.operation)) {
      case 'applied':
        if (!(await this.#source.catalog.isOfOddName(event))) await this.#apply(event);
        return;
      case 'passedOver':
        return;
      case 'refused':
        await this.#refuse(event);
    }
  }

  async #refuse({ operation, namespace, uuid }: CatalogEvent): Promise<void> {
    const tracked = uuid && this.#catalog.collection(uuid.toHexString(false));
    if (!tracked && !(await this.#source.selects(namespace))) return;
    throw new SyncError(
      'ChangeNotSupported',
      `${operation} of ${namespaceText(namespace)} on the source is not supported`,
    );
  }

  async #apply(event: CatalogEvent): Promise<void> {
    if (event.operation === 'dropDatabase') {
      await this.#applyDropDatabase(event);
      return;
    }
    if (event.uuid === undefined) {
      requireView(event, this.#catalog.collectionAt(event.namespace));
      await this.#views.apply(event);
      return;
    }
    const tracked = this.#catalog.collection(event.uuid.toHexString(false));
    switch (event.operation) {
      case 'create':
        if (!tracked) await this.#applyCreate(event, event.uuid);
        return;
      case 'rename':
        await this.#applyRename(event, event.uuid, tracked);
        return;
      case 'drop':
        if (tracked) await this.#dropTracked(tracked);
        return;
      case 'createIndexes':
        if (tracked && isNews(tracked, event))
          await applyCreateIndexes(this.#destination, this.#catalog, event, tracked);
        return;
      case 'dropIndexes':
        if (tracked && isNews(tracked, event))
          await applyDropIndexes(this.#destination, this.#catalog, event, tracked);
        return;
      case 'modify':
        if (tracked && isNews(tracked, event))
          await applyModify(this.#destination, this.#catalog, event, tracked);
        return;
      case 'shardCollection':
        if (tracked?.shardKey === null) await this.#applyShardCollection(event, tracked);
    }
  }

  async #applyCreate(event: CatalogEvent, uuid: UUID): Promise<void> {
    const { idIndex, ...options } = event.description as Record<string, unknown>;
    if (isTemporary(event.namespace, options) || !(await this.#source.selects(event.namespace)))
      return;
    // Dropped again before what stands there now was read or came: the events of this one are to be passed over.
    if (!(await this.#makeRoom(event, event.namespace))) return;
    const { namespace } = event;
    const tracked: TrackedCollection = {
      uuid,
      namespace,
      destinationUuid: null,
      // A sharded source tells of it by another event.
      shardKey: await this.#source.kind.wantedShardKey({ uuid, namespace, options }, new Map()),
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
    await this.#catalog.put(tracked);
    await this.#catalog.put(await this.#creator.create(tracked));
  }

  /** The first document may be there by now: what is there already goes to where it belongs. */
  async #applyShardCollection(
    { description, time }: CatalogEvent,
    tracked: TrackedCollection,
  ): Promise<void> {
    const { shardKey } = description;
    if (!(shardKey instanceof RawValue))
      throw new SyncError('InternalError', 'a shardCollection event without a shard key');
    const sharded = { ...tracked, shardKey: shardKeyFrom(shardKey.decode() as object) };
    await shardCollection(this.#source, this.#destination, sharded, this.#logger);
    await this.#catalog.put({ ...sharded, specifiedAt: time });
  }

  async #applyRename(
    event: CatalogEvent,
    uuid: UUID,
    known: TrackedCollection | undefined,
  ): Promise<void> {
    const { to } = event;
    if (to === undefined) throw new SyncError('InternalError', 'a rename event without a target');
    const isSelected = await this.#source.selects(to);
    // Also where the other one has a later name already: what stood here may have been made by an event before this one.
    const occupant = this.#catalog.collectionAt(to);
    let tracked = known;
    let replacedUuid: UUID | null = null;
    if (
      occupant &&
      (isDropTarget(event, occupant) || this.#source.kind.isGoneBefore(event.time, uuid, occupant))
    ) {
      replacedUuid = occupant.uuid;
      // Stored before it is gone: a repetition does not find it.
      if (tracked) {
        tracked = { ...tracked, replacedUuid };
        await this.#catalog.put(tracked);
      }
      await this.#dropTracked(occupant);
    }
    if (!tracked) {
      if (isSelected) await this.#adopt(event, uuid, to, replacedUuid);
      return;
    }
    // It is repeated: the name is a later one.
    if (isAtMost(event.time, tracked.namedAt)) return;
    // Every shard that has a part of the collection tells of it.
    if (this.#source.kind.repeatsRenames && isSameNamespace(to, tracked.namespace)) return;
    if (!isSameNamespace(event.namespace, tracked.namespace)) {
      // Read into the catalog after it.
      if (isAtMost(event.time, tracked.namedBy)) return;
      throw unexpected(event, `the collection is ${namespaceText(tracked.namespace)}`);
    }
    if (!isSelected) {
      await this.#store.warn(
        `${namespaceText(event.namespace)} was renamed to ${namespaceText(to)}, outside the filter: dropped`,
      );
      await this.#dropTracked(tracked);
      return;
    }
    if (!(await this.#makeRoom(event, to))) {
      // It was dropped meanwhile, or has yet another name: it is taken up again by that event, then.
      await this.#dropTracked(tracked);
      return;
    }
    if (!this.#destination.kind.canRename(event.namespace, to)) {
      await this.#dropTracked(tracked);
      await this.#adopt(event, uuid, to, replacedUuid);
      return;
    }
    if (tracked.shardKey === null && requestedShardKey(this.#sharding, to)) {
      await this.#store.warn(
        `${namespaceText(event.namespace)} was renamed to ${namespaceText(to)}, which the sharding option lists: it stays unsharded`,
      );
    }
    await this.#destination.catalog.rename(tracked, to);
    // It is kept for good from then on.
    const { temp: _temp, ...options } = tracked.options;
    await this.#catalog.put({
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
  async #makeRoom(event: CatalogEvent, name: Namespace): Promise<boolean> {
    const catalog = this.#catalog;
    const view = catalog.view(name);
    const since = catalog.collectionAt(name)?.namedBy ?? view?.specifiedBy;
    if (since === undefined) return true;
    if (isAtMost(event.time, since)) return false;
    if (view) {
      await this.#destination.views.drop(name);
      await catalog.removeView(name);
      return true;
    }
    const twice = event.operation === 'create' && this.#source.kind.createdTwice(name);
    if (twice) throw twice;
    throw unexpected(event, `${namespaceText(name)} already exists`);
  }

  /**
   * Takes up a collection that comes under a selected name by a rename: it is copied from the source as it is now; the
   * change events since then apply over it.
   */
  async #adopt(
    event: CatalogEvent,
    uuid: UUID,
    to: Namespace,
    replacedUuid: UUID | null,
  ): Promise<void> {
    const read = await this.#source.catalog.trackNow(uuid, event.time);
    // Gone by now, or with yet another name.
    if (!read || !(await this.#makeRoom(event, to))) return;
    const tracked = { ...read, namespace: to, namedAt: event.time, replacedUuid };
    await this.#catalog.put(tracked);
    const created = await this.#creator.create(tracked);
    await this.#catalog.put(created);
    await this.#copy.copyCollection(created);
  }

  async #dropTracked(tracked: TrackedCollection): Promise<void> {
    const { namespace } = tracked;
    if (
      !(await this.#destination.made.drop(tracked)) &&
      (await this.#destination.catalog.collectionAt(namespace))
    ) {
      await this.#store.warn(
        `${namespaceText(namespace)} was dropped on the source, but stays on the destination: it is not the collection that the sync has created`,
      );
    }
    await this.#catalog.remove(tracked.uuid);
  }

  async #applyDropDatabase({ namespace: { db }, time }: CatalogEvent): Promise<void> {
    for (const view of this.#catalog.views()) {
      if (view.namespace.db !== db || !isAtMost(view.specifiedAt, time)) continue;
      await this.#destination.views.drop(view.namespace);
      await this.#catalog.removeView(view.namespace);
    }
  }

  /**
   * Creates and copies the collections that a change event was about to add when the process ended, or the destination failed:
   * they are stored, so that the event, when it is applied once more, has nothing left to add.
   */
  async finishCollections(): Promise<void> {
    for (const collection of this.#catalog.collections()) {
      if (collection.destinationUuid !== null && collection.isCopied) continue;
      await this.#destination.step('catalog change', async () => {
        const created = await this.#creator.create(collection);
        await this.#catalog.put(created);
        if (!created.isCopied) await this.#copy.copyCollection(created);
      });
    }
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

/** The destination's catalog is not what the events before this one lead to. */
function unexpected(
  { operation, namespace }: Pick<CatalogEvent, 'operation' | 'namespace'>,
  found: string,
): SyncError {
  return new SyncError(
    'InternalError',
    `${operation} of ${namespaceText(namespace)}, but ${found}`,
  );
}

/**
 * A server tells the UUID of each collection that is dropped, and none of a view: a drop without one, where a collection stood at that
 * time, says what is not so. Passed over, the collection would stay on the destination.
 * @param standing - what is known to stand there; it may have come later than the event.
 * @throws SyncError InternalError.
 */
export function requireView(
  event: Pick<CatalogEvent, 'operation' | 'namespace' | 'time'>,
  standing: Pick<TrackedCollection, 'namedBy'> | undefined,
): void {
  if (event.operation !== 'drop' || !standing || isAtMost(event.time, standing.namedBy)) return;
  throw unexpected(
    event,
    'a collection already exists there, and the event does not report its UUID',
  );
}

/** True for the collection that stood at a rename's target and was dropped by it. */
function isDropTarget({ description }: CatalogEvent, { uuid }: TrackedCollection): boolean {
  const dropped = description['dropTarget'] as UUID | undefined;
  return dropped !== undefined && uuid.equals(dropped);
}

/** What becomes of a change event that is not of a document: it is applied, left alone, or stops a sync that it is about. */
export type EventFate = 'applied' | 'passedOver' | 'refused';

const fates: ReadonlyMap<string, EventFate> = new Map([
  ['create', 'applied'],
  ['createIndexes', 'applied'],
  ['drop', 'applied'],
  ['dropDatabase', 'applied'],
  ['dropIndexes', 'applied'],
  ['modify', 'applied'],
  ['rename', 'applied'],
  ['shardCollection', 'applied'],
  // Of no namespace: behind a feature flag of servers from 7.1 on, one for each transaction.
  ['endOfTransaction', 'passedOver'],
  // Told of by servers newer than 6.0; the keys are settled at the commit (settleShardKeys).
  ['refineCollectionShardKey', 'passedOver'],
]);

/** The fate of an event, by its `operationType`. What is not known is refused: it may change what is synced. */
export function fateOf(operation: string): EventFate {
  return fates.get(operation) ?? 'refused';
}
