import type { Timestamp, UUID } from 'mongodb';
import type { ShardKeys } from '../../mongo/config-database.ts';
import { type CollectionInfo, isNoCollection } from '../../mongo/catalog.ts';
import type { CheckedValue } from '../../mongo/checked-value.ts';
import { later } from '../../mongo/cluster-time.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import { type Namespace, namespaceText } from '../../mongo/namespace.ts';
import type { RawDocument, RawElement } from '../../mongo/raw-bson.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { runCommand } from '../../mongo/run-command.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import type { SyncError } from '../../service/errors.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { requestedShardKey, type StartOptions } from '../options/command-bodies.ts';
import { type Addressing, mayBeOnAnyShard, type TrackedCollection } from '../store/records.ts';

/** The latest known times of the source. */
export type KnownTimes = Pick<SyncMonitor, 'receivedTime' | 'appliedTime'>;

/**
 * The latest cluster time of the source that is known here: no read of the source may be older, whichever member or router
 * answers. A newly elected primary returns what it knows a majority to have, which can be less than its predecessor reported; a
 * router may ask a shard that has not heard of it. What was written between would be neither in the read nor in a later change
 * event. Undefined before any time is known.
 * @param times - what else this read depends on: where change events begin, or the time of an event.
 */
export function latestKnownTime(
  { receivedTime, appliedTime }: KnownTimes,
  ...times: readonly (Timestamp | null)[]
): Timestamp | undefined {
  let latest: Timestamp | undefined;
  for (const time of [receivedTime, appliedTime, ...times])
    if (time !== null) latest = latest === undefined ? time : later(latest, time);
  return latest;
}

/** How much of the source a read sees at one time: `snapshot` is all of it, from every shard. */
export type ReadLevel = 'majority' | 'snapshot';

/** A read concern that is not before what is known ({@link latestKnownTime}). */
export function readConcernNow(
  known: KnownTimes,
  level: ReadLevel,
  ...times: readonly (Timestamp | null)[]
): { readonly level: ReadLevel; readonly afterClusterTime?: Timestamp } {
  const afterClusterTime = latestKnownTime(known, ...times);
  return { level, ...(afterClusterTime && { afterClusterTime }) };
}

/** The size of a collection, by its servers' own counts. */
export type CollectionSize = Pick<TrackedCollection, 'sizeBytes' | 'documentCount'>;

/** A range of values of a shard key, and the zone that it is in. */
export interface SourceZone {
  readonly min: unknown;
  readonly max: unknown;
  readonly zone: string;
}

/**
 * The differences between a replica set and a sharded cluster as sources. Chosen once, when the source is made: {@link
 * replicaSetSource}, or `ShardedSourceKind`.
 */
export interface SourceKind {
  /** How to find a document of a collection on the destination by what change events say of it. */
  addressingOf(collection: Pick<TrackedCollection, 'shardKey' | 'options'>): Addressing;
  /**
   * How to read documents that take the place of changes. Those of a collection that is sharded on the source must be read at
   * one time: otherwise a document on its way to another shard would be seen twice, or not at all.
   */
  readLevelFor(shardKey: ShardKey | null): ReadLevel;
  /**
   * Whether the change stream reports what migrations write. On a replica set nothing migrates, but cloneCollectionAsCapped
   * inserts as migrations do.
   */
  readonly showsMigrationEvents: boolean;
  /** Whether the user can read the oplog: no router shows the oplogs of its shards. */
  readonly hasReadableOplog: boolean;
  /** The sharded collections: all of them, or those with the given UUIDs. A replica set has none. */
  readShardKeys(uuids?: readonly UUID[]): Promise<ShardKeys>;
  /**
   * The shard key for a collection on the destination: its own, or the requested one. Null for none, or if none is possible.
   * @param shardKeys - the known ones of the source.
   */
  wantedShardKey(
    info: Pick<CollectionInfo, 'uuid' | 'namespace' | 'options'>,
    shardKeys: ShardKeys,
  ): Promise<ShardKey | null>;
  /** The zone ranges of a collection. */
  zonesOf(namespace: Namespace): Promise<SourceZone[]>;
  /** The size of a collection. Undefined if the name has none now. */
  sizeOf(namespace: Namespace): Promise<CollectionSize | undefined>;
  /**
   * Makes sure that a collection can be read by its UUID where it was found.
   * @param searches - how often it was found before, and could not be read.
   * @throws SyncError ChangeNotSupported if it is another collection to the config servers, and stays so.
   */
  prepareReading(found: CollectionInfo, searches: number): Promise<void>;
  /**
   * Makes sure that no two documents of a collection share one of these ids: a sharded cluster does not prevent that, and if
   * both came to one shard of the destination, there would be no room for the second.
   * @throws SyncError DuplicateIds.
   */
  checkDuplicateIds(
    collection: Pick<TrackedCollection, 'uuid' | 'namespace' | 'shardKey'>,
    ids: readonly RawElement[],
  ): Promise<void>;
  /**
   * Searches whole collections for documents that share an `_id`, however long that takes.
   * @throws SyncError DuplicateIds for the first collection that has some.
   */
  requireNoDuplicateIds(infos: readonly CollectionInfo[]): Promise<void>;
  /**
   * Checks a change of a collection whose UUID, as 32 hexadecimal digits, is unknown.
   * @throws SyncError ChangeNotSupported if it was resharded.
   */
  checkUnknown(uuidHex: string, event: RawDocument): void;
  /** Whether change events report that a collection was resharded, before any change of the result. */
  reportsResharding(): Promise<boolean>;
  /** Checks whether a collection was resharded. To be called every few seconds. @throws SyncError ChangeNotSupported. */
  checkResharding(): Promise<void>;
  /** Whether every shard that has a part of a collection reports its rename: all but the first repeat it. */
  readonly repeatsRenames: boolean;
  /**
   * Whether a rename onto the name of another collection is the only report of that collection's end, for a drop that the
   * shards report one after the other.
   */
  isGoneBefore(time: Timestamp, uuid: UUID, occupant: TrackedCollection): boolean;
  /** The error for a collection that is created where one exists; undefined if the source cannot do that. */
  createdTwice(namespace: Namespace): SyncError | undefined;
}

/** A source that is a replica set: its collections have only the shard keys that are requested. */
export function replicaSetSource(
  deployment: Deployment,
  { sharding }: Pick<StartOptions, 'sharding'>,
  warn: (warning: string) => Promise<void>,
  signal: AbortSignal,
): SourceKind {
  return {
    addressingOf: (collection) => (mayBeOnAnyShard(collection) ? 'onEveryShard' : 'byId'),
    readLevelFor: () => 'majority',
    showsMigrationEvents: true,
    hasReadableOplog: true,
    repeatsRenames: false,
    readShardKeys: async () => await Promise.resolve(new Map()),
    async wantedShardKey({ namespace, options }) {
      const key = requestedShardKey(sharding, namespace);
      if (key === undefined) return null;
      if (!isTrue(options['capped'])) return key;
      await warn(`${namespaceText(namespace)} is capped: it stays unsharded`);
      return null;
    },
    zonesOf: async () => await Promise.resolve([]),
    sizeOf: async (namespace) => await dataSizeOf(deployment, namespace, signal),
    prepareReading: async () => {
      await Promise.resolve();
    },
    checkDuplicateIds: async () => {
      await Promise.resolve();
    },
    requireNoDuplicateIds: async () => {
      await Promise.resolve();
    },
    checkUnknown: () => undefined,
    reportsResharding: async () => await Promise.resolve(false),
    checkResharding: async () => {
      await Promise.resolve();
    },
    isGoneBefore: () => false,
    createdTwice: () => undefined,
  };
}

/** Returns the way to read a collection's size that suits the deployment. */
export function sizeReaderOf(
  deployment: Deployment,
  signal: AbortSignal,
): (namespace: Namespace) => Promise<CollectionSize | undefined> {
  const read = deployment.isSharded ? collectionStatsOf : dataSizeOf;
  return async (namespace) => await read(deployment, namespace, signal);
}

/** By far the cheaper way, as it does not read the indexes. */
async function dataSizeOf(
  { decoded }: Deployment,
  namespace: Namespace,
  signal: AbortSignal,
): Promise<CollectionSize | undefined> {
  const command = { dataSize: namespaceText(namespace), estimate: true };
  const answer = await unlessGone(async () => {
    return await runCommand(decoded.db(namespace.db), command, { signal });
  });
  return answer && sizeIn(answer, 'numObjects');
}

/**
 * The way for routers: they return the data size of a sharded collection only between two shard keys ("keyPattern must equal
 * shard key", mongos 3.0 to 8.0).
 */
export async function collectionStatsOf(
  { decoded }: Deployment,
  { db, coll }: Namespace,
  signal: AbortSignal,
): Promise<CollectionSize | undefined> {
  const answer = await unlessGone(async () => {
    return await runCommand(decoded.db(db), { collStats: coll }, { signal });
  });
  return answer && sizeIn(answer, 'count');
}

function sizeIn(answer: CheckedValue, countField: 'count' | 'numObjects'): CollectionSize {
  return {
    sizeBytes: answer.field('size').count(),
    documentCount: answer.field(countField).count(),
  };
}

async function unlessGone(run: () => Promise<CheckedValue>): Promise<CheckedValue | undefined> {
  try {
    return await run();
  } catch (error) {
    if (isNoCollection(error)) return undefined;
    throw error;
  }
}
