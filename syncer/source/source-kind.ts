import type { Timestamp, UUID } from 'mongodb';
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

/** How far the source is known to be. */
export type KnownTimes = Pick<SyncMonitor, 'receivedTime' | 'appliedTime'>;

/**
 * The latest cluster time of the source that is known here: nothing that is read there may be older, whichever member or
 * router answers. A primary that has just been elected gives what it knows a majority to have, which can be less than its
 * predecessor has told of; a router asks a shard that has not heard of it. What was written between would be neither in what
 * is read nor in a change event after it. Undefined before any time is known.
 * @param times - what this read depends on besides: where change events begin, or those of an event.
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

/** A collection that has a shard key on a sharded source. */
export interface ShardedSource {
  readonly namespace: string;
  readonly key: ShardKey;
}

/** The sharded collections of a source, by their UUIDs as 32 hexadecimal digits. */
export type ShardKeys = ReadonlyMap<string, ShardedSource>;

/** How large a collection is, as its servers count. */
export type CollectionSize = Pick<TrackedCollection, 'sizeBytes' | 'documentCount'>;

/** A range of values of a shard key, and the zone that it is in. */
export interface SourceZone {
  readonly min: unknown;
  readonly max: unknown;
  readonly zone: string;
}

/**
 * Where a replica set and a sharded cluster differ as sources. Chosen once, when the source is made: {@link replicaSetSource},
 * or `ShardedSourceKind`.
 */
export interface SourceKind {
  /** How a document of a collection is found on the destination by what change events tell of it. */
  addressingOf(collection: Pick<TrackedCollection, 'shardKey' | 'options'>): Addressing;
  /**
   * How documents are read that take the place of changes. Those of a collection that is sharded on the source all at one time,
   * as a document on its way to another shard would be seen twice, or not at all.
   */
  readLevelFor(shardKey: ShardKey | null): ReadLevel;
  /**
   * Whether the change stream tells of what migrations write. On a replica set nothing migrates, but cloneCollectionAsCapped
   * inserts as migrations do.
   */
  readonly showsMigrationEvents: boolean;
  /** Whether the user can look at the oplog: no router shows the oplogs of its shards. */
  readonly hasReadableOplog: boolean;
  /** The sharded collections: all, or those of some UUIDs. A replica set has none. */
  readShardKeys(uuids?: readonly UUID[]): Promise<ShardKeys>;
  /**
   * The shard key that a collection is to have on the destination: its own, or what is asked for. Null for none, also where
   * none is possible.
   * @param shardKeys - those of the source that are known.
   */
  wantedShardKey(
    info: Pick<CollectionInfo, 'uuid' | 'namespace' | 'options'>,
    shardKeys: ShardKeys,
  ): Promise<ShardKey | null>;
  /** The zone ranges of a collection. */
  zonesOf(namespace: Namespace): Promise<SourceZone[]>;
  /** How large a collection is. Undefined where none stands at the name by now. */
  sizeOf(namespace: Namespace): Promise<CollectionSize | undefined>;
  /**
   * Makes sure that a collection can be read by its UUID where it was found.
   * @param searches - how often it was found before, and could not be read.
   * @throws SyncError ChangeNotSupported where it is another collection by the config servers, and stays so.
   */
  prepareReading(found: CollectionInfo, searches: number): Promise<void>;
  /**
   * Makes sure that no two documents of a collection have one of these ids: a sharded cluster does not prevent that, and where
   * both would come on one shard of the destination, there is no room for the second.
   * @throws SyncError DuplicateIds.
   */
  checkDuplicateIds(
    collection: Pick<TrackedCollection, 'uuid' | 'namespace' | 'shardKey'>,
    ids: readonly RawElement[],
  ): Promise<void>;
  /**
   * Looks at a change of a collection whose UUID, as 32 hexadecimal digits, is not known.
   * @throws SyncError ChangeNotSupported where it was resharded.
   */
  checkUnknown(uuidHex: string, event: RawDocument): void;
  /** Looks whether a collection has been resharded. To be called every few seconds. @throws SyncError ChangeNotSupported. */
  checkResharding(): Promise<void>;
  /** Whether every shard that has a part of a collection tells of its rename: all but the first repeat it. */
  readonly repeatsRenames: boolean;
  /**
   * Whether a rename to where another collection stands is the only word of that one's end: of a drop that the shards tell of
   * one after the other.
   */
  isGoneBefore(time: Timestamp, uuid: UUID, occupant: TrackedCollection): boolean;
  /** The error for a collection that is created where one stands; undefined where the source cannot do that. */
  createdTwice(namespace: Namespace): SyncError | undefined;
}

/** A source that is a replica set: its collections have no shard keys but those that are asked for. */
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
    readShardKeys: async () => await Promise.resolve(new Map<string, ShardedSource>()),
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
    checkUnknown: () => undefined,
    checkResharding: async () => {
      await Promise.resolve();
    },
    isGoneBefore: () => false,
    createdTwice: () => undefined,
  };
}

/** Reads how large a collection is, in the way that the deployment has for it. */
export function sizeReaderOf(
  deployment: Deployment,
  signal: AbortSignal,
): (namespace: Namespace) => Promise<CollectionSize | undefined> {
  const read = deployment.isSharded ? collectionStatsOf : dataSizeOf;
  return async (namespace) => await read(deployment, namespace, signal);
}

/** The cheaper way by far, as it leaves the indexes alone. */
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
 * The way of routers: they give the data size of a sharded collection only between two shard keys ("keyPattern must equal shard
 * key", mongos 3.0 to 8.0).
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
