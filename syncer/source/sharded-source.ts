import type { Timestamp, UUID } from 'mongodb';
import { type CollectionInfo, findCollection } from '../../mongo/catalog.ts';
import { isAtMost, majorityTime } from '../../mongo/cluster-time.ts';
import { readConfig, readShardKeys, type ShardKeys } from '../../mongo/config-database.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import { ElementPicker } from '../../mongo/element-scan.ts';
import { type Namespace, namespaceText } from '../../mongo/namespace.ts';
import type { RawDocument, RawElement } from '../../mongo/raw-bson.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { readVersion } from '../../mongo/topology.ts';
import { hasFeature } from '../../mongo/server-features.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import { SyncError } from '../../service/errors.ts';
import { backoffMs, sleep } from '../../service/sleep.ts';
import { type Addressing, mayBeOnAnyShard, type TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import { eventNamespace, eventTime } from './change-event.ts';
import { duplicateIdsError, duplicatesAmong, findDuplicateIds } from './duplicate-ids.ts';
import {
  type CollectionSize,
  collectionStatsOf,
  type KnownTimes,
  latestKnownTime,
  readConcernNow,
  type ReadLevel,
  type SourceKind,
  type SourceZone,
} from './source-kind.ts';

/** How many searches for a UUID that cannot be read come before it is examined: with their back-off, half a minute at most. */
const patientSearches = 8;

/** How often to look for documents that share an `_id` before that counts: over about a second. */
const looksForDuplicates = 4;

const eventFields = new ElementPicker(['ns', 'clusterTime']);

/** What the sync knows of the source's collections. */
type KnownCollections = Pick<TrackedCatalog, 'collections' | 'collectionAt'>;

/** The questions to a source that is a sharded cluster, through its routers. */
export class ShardedSourceKind implements SourceKind {
  readonly showsMigrationEvents = false;
  readonly hasReadableOplog = false;
  readonly repeatsRenames = true;
  readonly #deployment: Deployment;
  readonly #catalog: KnownCollections;
  readonly #known: KnownTimes;
  readonly #signal: AbortSignal;
  #seen: { readonly suspects: Suspects; readonly time: Timestamp } | undefined;

  /**
   * @param catalog - what the sync knows of the source's collections.
   * @param known - the latest known times of the source.
   */
  constructor(
    deployment: Deployment,
    catalog: KnownCollections,
    known: KnownTimes,
    signal: AbortSignal,
  ) {
    this.#deployment = deployment;
    this.#catalog = catalog;
    this.#known = known;
    this.#signal = signal;
  }

  addressingOf(collection: Pick<TrackedCollection, 'shardKey' | 'options'>): Addressing {
    return mayBeOnAnyShard(collection) ? 'byShardKey' : 'byId';
  }

  readLevelFor(shardKey: ShardKey | null): ReadLevel {
    return shardKey === null ? 'majority' : 'snapshot';
  }

  async readShardKeys(uuids?: readonly UUID[]): Promise<ShardKeys> {
    return await readShardKeys(this.#deployment, this.#signal, uuids);
  }

  async wantedShardKey(
    { uuid }: Pick<CollectionInfo, 'uuid'>,
    shardKeys: ShardKeys,
  ): Promise<ShardKey | null> {
    return await Promise.resolve(shardKeys.get(uuid.toHexString(false))?.key ?? null);
  }

  async zonesOf(namespace: Namespace): Promise<SourceZone[]> {
    const find = { find: 'tags', filter: { ns: namespaceText(namespace) } };
    const ranges = await readConfig(this.#deployment, find, this.#signal);
    return ranges.map((range) => ({
      min: range.field('min').raw(),
      max: range.field('max').raw(),
      zone: range.field('tag').text(),
    }));
  }

  async sizeOf(namespace: Namespace): Promise<CollectionSize | undefined> {
    return await collectionStatsOf(this.#deployment, namespace, this.#signal);
  }

  /**
   * A read without the UUID teaches a router where the collection is. With the UUID, the shard that the router asks from stale
   * knowledge refuses because of the UUID, for ever (6.0.5).
   */
  async prepareReading(found: CollectionInfo, searches: number): Promise<void> {
    const { db, coll } = found.namespace;
    const read = { find: coll, limit: 1, singleBatch: true, projection: { _id: 1 } };
    await runCommand(this.#deployment.decoded.db(db), read, { signal: this.#signal });
    if (searches >= patientSearches) await this.#requireAgreement(found);
  }

  /**
   * Looks several times before it counts: in the order of cluster times, a document may have come to one shard before another
   * one of its `_id` has left, although its writer has deleted that one first; and a writer may do it the other way round.
   */
  async checkDuplicateIds(
    collection: Pick<TrackedCollection, 'uuid' | 'namespace' | 'shardKey'>,
    ids: readonly RawElement[],
  ): Promise<void> {
    // Within one shard each `_id` is unique.
    if (ids.length === 0 || collection.shardKey === null) return;
    let found = await this.#duplicatesAmong(collection, ids, null);
    for (let looks = 1; looks < looksForDuplicates && found; looks++) {
      await sleep(backoffMs(looks), this.#signal);
      const time = await majorityTime(this.#deployment, this.#signal);
      found = await this.#duplicatesAmong(collection, ids, time);
    }
    if (found) throw duplicateIdsError(found.namespace, found.ids);
  }

  /** Reads at one time: otherwise a document that is moving to another shard would be seen twice. */
  async #duplicatesAmong(
    { uuid, shardKey }: Pick<TrackedCollection, 'uuid' | 'shardKey'>,
    ids: readonly RawElement[],
    time: Timestamp | null,
  ): Promise<{ readonly namespace: Namespace; readonly ids: readonly RawElement[] } | undefined> {
    const after = latestKnownTime(this.#known, time);
    const now = await findCollection(this.#deployment, uuid, this.#signal, after);
    if (!now) return undefined;
    await this.prepareReading(now, 0);
    const readConcern = readConcernNow(this.#known, this.readLevelFor(shardKey), time);
    const { namespace } = now;
    const signal = this.#signal;
    const found = await duplicatesAmong(this.#deployment, namespace, ids, readConcern, signal);
    return found.length > 0 ? { namespace, ids: found } : undefined;
  }

  /**
   * If another collection has the name of an unknown one that no event dropped, that one was resharded: resharding gives it
   * a new UUID, and no event reports it (before 6.0.14). Not so if the other has replaced the collection by a rename: the
   * rename drops what a shard writes until it renames as well.
   */
  checkUnknown(uuidHex: string, event: RawDocument): void {
    const { ns, clusterTime } = eventFields.pick(event);
    if (ns === undefined || clusterTime === undefined) return;
    const namespace = eventNamespace(ns);
    const tracked = this.#catalog.collectionAt(namespace);
    // Before the catalog was read, another collection may have had the name.
    if (!tracked || tracked.replacedUuid?.toHexString(false) === uuidHex) return;
    if (isAtMost(eventTime(clusterTime), tracked.namedBy)) return;
    throw reshardedError(namespace);
  }

  async requireNoDuplicateIds(infos: readonly CollectionInfo[]): Promise<void> {
    const keys = await this.readShardKeys(infos.map(({ uuid }) => uuid));
    for (const { uuid, namespace, options } of infos) {
      const shardKey = keys.get(uuid.toHexString(false))?.key ?? null;
      if (!mayBeOnAnyShard({ shardKey, options })) continue;
      const found = await findDuplicateIds(this.#deployment, { namespace, options }, this.#signal);
      if (found.length > 0) throw duplicateIdsError(namespace, found);
    }
  }

  async reportsResharding(): Promise<boolean> {
    const version = await readVersion(this.#deployment, this.#signal);
    return hasFeature(version, 'reshardingInChangeStreams');
  }

  /**
   * Finds collections that were resharded and not written to since, before a commit: no event reports them (before 6.0.14).
   * After a drop, a rename, or when a collection is created again under its name, the source looks the same for a while. So
   * a suspicion counts only once all changes until then are applied, the collection is still there, and the same is seen
   * again.
   */
  async checkResharding(): Promise<void> {
    const { appliedTime } = this.#known;
    const seen = this.#seen;
    // If it was discarded, it would never be seen twice on a source that is always a little ahead.
    if (seen && !(appliedTime && isAtMost(seen.time, appliedTime))) return;
    const collections = this.#catalog.collections();
    const suspects = suspectsOf(collections, await this.readShardKeys());
    for (const { uuid, namespace } of this.#catalog.collections()) {
      const other = suspects.get(uuid.toHexString(false));
      if (other !== undefined && seen?.suspects.get(uuid.toHexString(false)) === other)
        throw reshardedError(namespace);
    }
    this.#seen =
      suspects.size === 0
        ? undefined
        : { suspects, time: await majorityTime(this.#deployment, this.#signal) };
  }

  /** If a shard has no part of the occupant, its event does not say that the occupant was dropped. */
  isGoneBefore(time: Timestamp, uuid: UUID, occupant: TrackedCollection): boolean {
    return !occupant.uuid.equals(uuid) && !isAtMost(time, occupant.namedBy);
  }

  /** Its collections are created again on another shard, and their documents do not show. */
  createdTwice(namespace: Namespace): SyncError {
    return new SyncError(
      'ChangeNotSupported',
      `the database ${namespace.db} was moved to another primary shard of the source: ${namespaceText(namespace)} exists there a second time`,
    );
  }

  /**
   * A collection that was sharded while being converted to capped, or converted only on its primary shard, is one collection
   * there and another one to the config servers (6.0.5): no shard returns both.
   */
  async #requireAgreement({ namespace, uuid }: CollectionInfo): Promise<void> {
    const ns = namespaceText(namespace);
    const find = { find: 'collections', filter: { _id: ns } };
    const [row] = await readConfig(this.#deployment, find, this.#signal);
    const placed = row?.field('uuid').uuid();
    if (placed === undefined || uuid.equals(placed)) return;
    throw new SyncError(
      'ChangeNotSupported',
      `${ns} is one collection on the primary shard of its database, and another one on the config servers of the source: neither can be read`,
    );
  }
}

/** Collections that have lost their names to others: UUID to UUID, each as 32 hexadecimal digits. */
export type Suspects = ReadonlyMap<string, string>;

/**
 * The collections with a shard key whose UUIDs the source does not know, while it has others under their names.
 * @param sharded - what the source has, by UUID.
 */
export function suspectsOf(
  collections: readonly TrackedCollection[],
  sharded: ShardKeys,
): Suspects {
  const byName = new Map([...sharded].map(([uuid, { namespace }]) => [namespace, uuid]));
  const suspects = new Map<string, string>();
  for (const { uuid, namespace, shardKey } of collections) {
    const other = byName.get(namespaceText(namespace));
    if (shardKey === null || other === undefined || sharded.has(uuid.toHexString(false))) continue;
    suspects.set(uuid.toHexString(false), other);
  }
  return suspects;
}

/** The error for a collection that was resharded after the sync began. */
export function reshardedError(namespace: Namespace): SyncError {
  return new SyncError(
    'ChangeNotSupported',
    `${namespaceText(namespace)} was resharded on the source during the sync, which is not supported: start again with an empty destination`,
  );
}
