import type { Document } from 'mongodb';
import type { CollectionInfo, NamespaceInfo } from '../../mongo/catalog.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import {
  isIdIndex,
  isTrue,
  replicatedIndex,
  replicatedOptions,
} from '../../mongo/replicated-form.ts';
import { isSameKey, type ShardKey } from '../../mongo/shard-key.ts';
import { isSameOptions, isSameSpec, type IndexSpec } from '../../mongo/specification.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import type { Logger } from '../../service/logger.ts';
import { catalogSideBySide, madeByOthers } from '../destination/destination-catalog.ts';
import type { Sharding } from '../destination/destination-sharding.ts';
import type { Destination } from '../destination/destination.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';
import { replicateForm } from './replicate-forms.ts';

/** What deciding on present collections needs. */
interface PresentParts {
  readonly source: Source;
  readonly destination: Destination;
  readonly catalog: TrackedCatalog;
  readonly logger: Logger;
  readonly store: WorkStore;
}

/** How many dropped collections a warning names at most. */
const maxNamed = 20;

/**
 * The collections that are on the destination before the copy: those of an earlier run of the sync, or of a restored backup. One
 * that can be made equal to the source's collection of its name stays, with its documents; all others are dropped.
 */
export class PresentCollections {
  readonly #parts: PresentParts;
  /** The UUIDs of what the sync has made; undefined if everything selected may be dropped. */
  readonly #owned: ReadonlySet<string> | undefined;
  /** The selected collections, by name; less those that are dropped or adopted. */
  readonly #there: Map<string, CollectionInfo>;
  readonly #sharded: ReadonlyMap<string, Sharding>;
  readonly #dropped: string[] = [];

  private constructor(
    parts: PresentParts,
    owned: ReadonlySet<string> | undefined,
    there: Map<string, CollectionInfo>,
    sharded: ReadonlyMap<string, Sharding>,
  ) {
    this.#parts = parts;
    this.#owned = owned;
    this.#there = there;
    this.#sharded = sharded;
  }

  /**
   * Lists the selected collections, and drops the selected views: these have no documents, and are created again.
   * @param mayDropOthers - false if only what the sync has made may be dropped, and views of a name that it has made.
   * @throws SyncError DestinationNotEmpty for anything else then.
   */
  static async list(parts: PresentParts, mayDropOthers: boolean): Promise<PresentCollections> {
    const { source, destination, catalog } = parts;
    const there = new Map<string, CollectionInfo>();
    for (const db of await destination.catalog.databases())
      for (const info of await destination.catalog.list(db)) {
        if (!(await source.selects(info.namespace))) continue;
        if (info.kind === 'collection') there.set(namespaceText(info.namespace), info);
        else await dropOther(parts, info, mayDropOthers);
      }
    for (const { namespace } of catalog.views()) await catalog.removeView(namespace);
    const sharded = await destination.sharding.shardedCollections();
    const owned = mayDropOthers ? undefined : await ownedUuids(parts, [...there.values()]);
    return new PresentCollections(parts, owned, there, sharded);
  }

  /**
   * Decides on all of them, drops those that cannot stay, and stores the collections of the source. May be repeated from any
   * point.
   * @param wanted - all collections of the source.
   * @returns the same, adopted where they are on the destination.
   * @throws SyncError DestinationNotEmpty if somebody else has made what would have to be dropped.
   */
  async settle(wanted: readonly TrackedCollection[]): Promise<TrackedCollection[]> {
    const { catalog } = this.#parts;
    for (const one of wanted) await this.#followRename(one);
    const settled: TrackedCollection[] = [];
    await forEachConcurrently(wanted, catalogSideBySide, async (one) => {
      settled.push(await this.#adopt(one));
    });
    for (const info of [...this.#there.values()]) await this.#drop(info);
    await catalog.put(...settled);
    const uuids = new Set(wanted.map(({ uuid }) => uuid.toHexString()));
    for (const { uuid } of catalog.collections())
      if (!uuids.has(uuid.toHexString())) await catalog.remove(uuid);
    await this.#parts.store.live.update({ isPresentSettled: true }, { phase: 'catalog' });
    await this.#warnOfDropped(wanted);
    return settled;
  }

  /**
   * Gives an adopted collection its replicated form: drops the indexes that the source does not have, or has in another form,
   * and alters the others. Those that are missing are created as usual.
   */
  async align(adopted: TrackedCollection): Promise<void> {
    const { destination } = this.#parts;
    const { namespace, indexes } = adopted;
    for (const spec of await destination.catalog.indexesOf(namespace))
      if (!isIdIndex(spec) && !indexes.some((wanted) => canBecome(spec, wanted)))
        await destination.catalog.dropUnlessNeeded(namespace, spec.name);
    await replicateForm(destination, adopted);
  }

  async #adopt(wanted: TrackedCollection): Promise<TrackedCollection> {
    const { destination, logger } = this.#parts;
    const name = namespaceText(wanted.namespace);
    const there = this.#there.get(name);
    if (!there) return wanted;
    if (await this.#canStay(there, wanted)) {
      if (this.#isOwned(there)) {
        this.#there.delete(name);
        logger.debug({ namespace: name }, 'collection adopted');
        return { ...wanted, destinationUuid: there.uuid, isAdopted: true };
      }
      // An interrupted attempt may have created it, and not stored that: the next step accepts it.
      if (await destination.made.isAsMade(there, wanted)) {
        this.#there.delete(name);
        return wanted;
      }
    }
    await this.#drop(there);
    return wanted;
  }

  /** Renames what the sync has made of a collection, if that has got another name, and no other collection has that here. */
  async #followRename({ uuid, namespace }: TrackedCollection): Promise<void> {
    const { catalog, destination } = this.#parts;
    const former = catalog.collection(uuid.toHexString(false));
    if (!former?.destinationUuid || this.#there.has(namespaceText(namespace))) return;
    const there = this.#there.get(namespaceText(former.namespace));
    if (!there?.uuid.equals(former.destinationUuid) || former.namespace.db !== namespace.db) return;
    await destination.catalog.rename(former, namespace);
    this.#there.delete(namespaceText(former.namespace));
    this.#there.set(namespaceText(namespace), { ...there, namespace });
  }

  async #canStay(there: CollectionInfo, wanted: TrackedCollection): Promise<boolean> {
    const { options, shardKey, indexes } = wanted;
    const sharded = this.#sharded.get(namespaceText(there.namespace));
    if (sharded && !canKeepShardKey(sharded, shardKey)) return false;
    if (!canKeepDocuments(there.options, options)) return false;
    const present = await this.#parts.destination.catalog.indexesOf(there.namespace);
    return idIndexVersion(present) === idIndexVersion(indexes);
  }

  async #drop(there: CollectionInfo): Promise<void> {
    const { namespace, uuid } = there;
    const { catalog, destination } = this.#parts;
    const tracked = catalog.collectionAt(namespace);
    // An interrupted attempt may have created it, and not stored that.
    const isOwned =
      this.#isOwned(there) || (tracked && (await destination.made.isAsMade(there, tracked)));
    if (isOwned !== true) throw madeByOthers(namespace);
    await destination.catalog.dropCollection(namespace, uuid);
    const name = namespaceText(namespace);
    this.#there.delete(name);
    this.#dropped.push(name);
  }

  #isOwned({ uuid }: CollectionInfo): boolean {
    return this.#owned?.has(uuid.toHexString()) !== false;
  }

  async #warnOfDropped(wanted: readonly TrackedCollection[]): Promise<void> {
    const copied = new Set(wanted.map(({ namespace }) => namespaceText(namespace)));
    const gone = this.#dropped.filter((name) => !copied.has(name)).sort();
    if (gone.length === 0) return;
    const more = gone.length > maxNamed ? `, and ${gone.length - maxNamed} more` : '';
    await this.#parts.store.warn(
      `not on the source, and dropped on the destination: ${gone.slice(0, maxNamed).join(', ')}${more}`,
    );
  }
}

/**
 * The UUIDs on the destination of what the sync has made, or has written to: a collection that was dropped by somebody else, and
 * came back by a change event, has another UUID, and the name of one that is synced. The first attempt stores them.
 */
async function ownedUuids(
  { catalog, store }: PresentParts,
  there: readonly CollectionInfo[],
): Promise<ReadonlySet<string>> {
  const collections = catalog.collections();
  const known = collections.flatMap(({ destinationUuid }) => destinationUuid ?? []);
  if (store.live.current.ownedUuids === null) {
    // One without a UUID is stored before it is created: what has its name may be somebody else's.
    const created = collections.filter(({ destinationUuid }) => destinationUuid !== null);
    const names = new Set(created.map(({ namespace }) => namespaceText(namespace)));
    const named = there.filter(({ namespace }) => names.has(namespaceText(namespace)));
    const made = [...known, ...named.map(({ uuid }) => uuid)];
    await store.live.update({ ownedUuids: made }, { phase: 'catalog' });
  }
  const stored = store.live.current.ownedUuids ?? [];
  return new Set([...known, ...stored].map((uuid) => uuid.toHexString()));
}

/** What is not a collection is dropped. */
async function dropOther(
  { destination, catalog }: PresentParts,
  { namespace }: NamespaceInfo,
  mayDropOthers: boolean,
): Promise<void> {
  const tracked = catalog.view(namespace);
  if (mayDropOthers) await destination.catalog.drop(namespace);
  // It may differ from what is stored: a change of it may have been refused, or applied and not stored yet.
  else if (tracked) await destination.views.drop(tracked.namespace);
  else throw madeByOthers(namespace);
}

/**
 * True if the documents of a collection of the destination can be made equal to those of the source's: with other options, it
 * is created again. So is a capped one, whose documents have an order, and a clustered one with a TTL: what the server is
 * deleting there when that is turned off, it deletes afterwards, too (seen on 6.0.27), so documents already compared would be lost.
 */
export function canKeepDocuments(present: Document, wanted: Document): boolean {
  if (isTrue(present['capped']) || isTrue(wanted['capped'])) return false;
  if (present['expireAfterSeconds'] !== undefined) return false;
  return isSameOptions(replicatedOptions(present), replicatedOptions(wanted));
}

/** A cluster cannot be made to stop requiring unique keys, which a sync applies changes without. */
function canKeepShardKey(present: Sharding, wanted: ShardKey | null): boolean {
  return !present.isUnique && wanted !== null && isSameKey(present.key, wanted);
}

/** The version of the index on `_id`, which only a new collection can get. */
function idIndexVersion(indexes: readonly IndexSpec[]): number | undefined {
  const idIndex = indexes.find(isIdIndex);
  return idIndex && Number(idIndex['v']);
}

/** True if an index of the destination differs from one of the source only in what the replicated form alters. */
function canBecome(present: IndexSpec, wanted: IndexSpec): boolean {
  return (
    present.name === wanted.name && isSameSpec(replicatedIndex(present), replicatedIndex(wanted))
  );
}
