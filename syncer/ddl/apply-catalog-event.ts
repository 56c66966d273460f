import type { UUID } from 'mongodb';
import { checkedRow } from '../../mongo/checked-value.ts';
import { isAtMost } from '../../mongo/cluster-time.ts';
import { withoutServersOwn } from '../../mongo/collection-options.ts';
import { isSameNamespace, type Namespace, namespaceText } from '../../mongo/namespace.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { fateOfEvent } from '../../mongo/server-features.ts';
import { shardKeyFrom } from '../../mongo/shard-key.ts';
import { decodeIndexSpec } from '../../mongo/specification.ts';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { type CopySettings, InitialCopy } from '../copy/initial-copy.ts';
import type { Destination } from '../destination/destination.ts';
import type { WorkPace } from '../limits/pace.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { requestedShardKey, type StartOptions } from '../options/command-bodies.ts';
import type { CatalogEvent } from '../source/change-event.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';
import { applyCreateIndexes, applyDropIndexes, applyModify } from './apply-modify.ts';
import { ViewChanges } from './apply-view-event.ts';
import {
  isDropTarget,
  isNews,
  isTemporary,
  requireView,
  unexpected,
} from './catalog-event-rules.ts';
import { CollectionCreator } from './create-collections.ts';
import { followsResharding } from './follow-resharding.ts';
import { shardCollection } from './shard-collection.ts';

/** What applying catalog changes needs. */
interface ChangeParts {
  readonly source: Source;
  readonly destination: Destination;
  readonly catalog: TrackedCatalog;
  readonly store: WorkStore;
  readonly options: StartOptions;
  /** How to copy collections that come to the catalog later. */
  readonly settings: CopySettings;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly pace: WorkPace;
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
      pace: this.#parts.pace.within(signal),
    });
  }

  /**
   * Applies a change of the source's catalog to the destination, after all changes before it. May be repeated over any later
   * state of the catalog: what the state already includes is skipped.
   * @throws SyncError ChangeNotSupported for a change that cannot be followed; NameNotSupported.
   */
  async apply(event: CatalogEvent): Promise<void> {
    switch (fateOfEvent(event.operation)) {
      case 'applied':
        if (!(await this.#source.catalog.isOfOddName(event))) await this.#apply(event);
        return;
      case 'passedOver':
        return;
      case 'refused':
        if (event.operation === 'reshardCollection' && (await this.#follows()))
          await this.#applyReshard(event);
        else await this.#refuse(event);
    }
  }

  async #follows(): Promise<boolean> {
    return await followsResharding(this.#source, this.#destination);
  }

  /**
   * Replaces a collection by the one that resharding has made of it on the source, with the same documents. They are copied
   * again: the copy of the previous one may have been under way when it was gone.
   */
  async #applyReshard(event: CatalogEvent): Promise<void> {
    const { namespace, uuid, description } = event;
    const made = checkedRow(description, 'a reshardCollection event').field('reshardUUID').uuid();
    const former = uuid && this.#catalog.collection(uuid.toHexString(false));
    if (former) await this.#dropTracked(former);
    // Every shard may report it.
    if (this.#catalog.collection(made.toHexString(false))) return;
    if (former || (await this.#source.selects(namespace)))
      await this.#adopt(event, made, namespace, uuid ?? null);
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
          await applyCreateIndexes(this.#destination, this.#catalog, event, {
            tracked,
            largeBytes: this.#parts.settings.partitionMebibytes * 1024 * 1024,
          });
        return;
      case 'dropIndexes':
        if (tracked && isNews(tracked, event))
          await applyDropIndexes(this.#destination, this.#catalog, event, tracked);
        return;
      case 'modify':
        if (tracked && isNews(tracked, event))
          await applyModify(this.#source, this.#destination, this.#catalog, event, tracked);
        return;
      case 'shardCollection':
        if (tracked?.shardKey === null) await this.#applyShardCollection(event, tracked);
    }
  }

  async #applyCreate(event: CatalogEvent, uuid: UUID): Promise<void> {
    const { idIndex, ...given } = event.description as Record<string, unknown>;
    const options = withoutServersOwn(given);
    if (isTemporary(event.namespace, options) || !(await this.#source.selects(event.namespace)))
      return;
    if (await this.#source.catalog.isUnsupported(event.namespace, options)) return;
    // It was dropped again before what has the name now was read or came: skip its events.
    if (!(await this.#makeRoom(event, event.namespace))) return;
    const { namespace } = event;
    const tracked: TrackedCollection = {
      uuid,
      namespace,
      destinationUuid: null,
      // A sharded source reports it by another event.
      shardKey: await this.#source.kind.wantedShardKey({ uuid, namespace, options }, new Map()),
      options,
      indexes: idIndex instanceof RawValue ? [decodeIndexSpec(idIndex.bytes)] : [],
      namedAt: event.time,
      namedBy: event.time,
      replacedUuid: null,
      specifiedAt: event.time,
      sizeBytes: 0,
      documentCount: 0,
      isAdopted: false,
      isCopied: true,
    };
    // Stored first: after a crash between the two steps the collection is known to be the sync's.
    await this.#catalog.put(tracked);
    await this.#catalog.put(await this.#creator.create(tracked));
  }

  /** The first documents may be there by now: they are moved to where they belong. */
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
    // Look even if the renamed collection has a later name already: an event before this one may have made what has the target
    // name.
    const occupant = this.#catalog.collectionAt(to);
    let tracked = known;
    let replacedUuid: UUID | null = null;
    if (
      occupant &&
      (isDropTarget(event, occupant) || this.#source.kind.isGoneBefore(event.time, uuid, occupant))
    ) {
      replacedUuid = occupant.uuid;
      // Stored before the occupant is dropped: a repetition no longer finds it.
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
    // A repeated event: the collection has a later name.
    if (isAtMost(event.time, tracked.namedAt)) return;
    // Every shard that has a part of the collection reports it.
    if (this.#source.kind.repeatsRenames && isSameNamespace(to, tracked.namespace)) return;
    if (!isSameNamespace(event.namespace, tracked.namespace)) {
      // The collection was read into the catalog after the event.
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
      // It was dropped meanwhile, or renamed again: then that event adds it again.
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
    // A rename makes it permanent.
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
   * Makes sure that the name that an event gives to a collection is free, as it was on the source then. A view that had the
   * name before is dropped: not all drops of views are reported (see settleViews).
   * @returns false if something that came later has the name: the catalog was read after the event, or events are repeated.
   * @throws SyncError InternalError if a collection had the name before; ChangeNotSupported if a sharded source has moved it.
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
   * Adds a collection that a rename gives a selected name: it is copied from the source as it is now, and the change
   * events since then apply over it.
   */
  async #adopt(
    event: CatalogEvent,
    uuid: UUID,
    to: Namespace,
    replacedUuid: UUID | null,
  ): Promise<void> {
    const read = await this.#source.catalog.trackNow(uuid, event.time);
    // It is gone by now, or renamed again.
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
    await this.#destination.leftIndexes.forget(tracked.uuid);
  }

  async #applyDropDatabase({ namespace: { db }, time }: CatalogEvent): Promise<void> {
    for (const view of this.#catalog.views()) {
      if (view.namespace.db !== db || !isAtMost(view.specifiedAt, time)) continue;
      await this.#destination.views.drop(view.namespace);
      await this.#catalog.removeView(view.namespace);
    }
  }

  /**
   * Creates and copies the collections that a change event was about to add when the process ended or the destination failed.
   * They are stored, so the event has nothing left to add when it is applied again.
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
