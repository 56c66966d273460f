import type { Binary, Document, Timestamp, UUID } from 'mongodb';
import type { IdRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { isPlacedById, type ShardKey } from '../../mongo/shard-key.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import type { Topology } from '../../mongo/topology.ts';
import type { ErrorName } from '../../service/error-table.ts';
import type { Limits } from '../../sync-api/json.ts';
import type {
  ClusterName,
  Comparison,
  ResetDestination,
  StartOptions,
} from '../options/command-bodies.ts';

/**
 * How far a sync is. `catalog`: reading the source's catalog and creating collections; `copy`: copying documents;
 * `changes`: applying change events, even while a commit waits for its time; `restoring`: the commit gives collections
 * their true characteristics; `done`: committed; `handover`: a reversal moves the state to its new destination;
 * `preparing`: it gives collections there the replicated form, before changes are applied.
 */
export type Phase =
  'catalog' | 'copy' | 'changes' | 'restoring' | 'done' | 'handover' | 'preparing';

/** A deployment as it was when the sync started: a restarted process checks that it still talks to the same ones. */
export interface ClusterRecord {
  readonly name: 'cluster0' | 'cluster1';
  readonly clusterId: string;
}

/** A command that is carried out once every instance has been given it. Each instance pauses and resumes on its own. */
export type GroupCommand = 'start' | 'commit' | 'reverse' | 'repair';

/** Why an instance stopped for good. */
export interface FailureRecord {
  readonly instance: string;
  readonly name: ErrorName;
  readonly description: string;
  readonly at: Date;
}

/** A reset of a sync: its end for good. It is stored before anything else is done for it. */
export interface ResetRecord {
  readonly destination: ResetDestination;
  /** The ids of the instances that have been given it. */
  readonly received: readonly string[];
  /** The ids of those whose work has ended: nothing that it requested can still arrive. */
  readonly ended: readonly string[];
}

/** The sync: one document, `_id: 'sync'`, in the collection `sync`. */
export interface SyncRecord {
  /** The state after the last command, once every instance has had it: `viewOf` returns what a single one shows. */
  readonly state: 'RUNNING' | 'COMMITTING' | 'COMMITTED';
  readonly phase: Phase;
  /** The ids of all instances: the given ones, those of the source's shards, or the one that works alone. */
  readonly instances: readonly string[];
  /**
   * Whether the changes of documents are shared out by the value of their `_id`. A sync that a previous release has begun goes by
   * only the server's hash: to change that while its processes are replaced would leave changes to nobody.
   */
  readonly isSharedByValue: boolean;
  /** The last of the commands that wait until all instances have been given them, and how many there were. */
  readonly command: GroupCommand;
  readonly commandCount: number;
  /** The state before that command. */
  readonly formerState: 'IDLE' | SyncRecord['state'];
  /** How many of those commands each instance has been given, in the order of `instances`. */
  readonly received: readonly number[];
  /** The ids of the instances that are paused. */
  readonly paused: readonly string[];
  /** The last applied change of the catalog, by its place in the change stream; null for none. */
  readonly catalogEvent: string | null;
  /** How often the sync was reversed: of two records of a sync the one with more counts. */
  readonly reversals: number;
  /** How often the sync was repaired: started over from a new start time, with the documents that are on the destination. */
  readonly repairs: number;
  /** How the copy compares documents that are on the destination already. */
  readonly comparison: Comparison;
  readonly options: StartOptions;
  /** How much the sync may demand of the servers: of all instances together. */
  readonly limits: Limits;
  readonly source: ClusterRecord;
  readonly destination: ClusterRecord;
  readonly startedAt: Date;
  /** Change events are read from here on. Null until the catalog is about to be read. */
  readonly startTime: Timestamp | null;
  /** When the catalog of each database was read; a database that is missing did not exist. */
  readonly catalogTimes: readonly CatalogTime[];
  /** Of the selected collections when the sync was started. Null before that. */
  readonly estimatedTotalBytes: number | null;
  /**
   * True once everything stored of the catalog belongs to this sync: before it stores any, there may be leftovers of another
   * sync whose record is gone.
   */
  readonly ownsCatalog: boolean;
  /**
   * True once what was on the destination before the start is adopted or dropped: anything else there was made later by somebody else. Only
   * a sync that begins with a restored backup needs it.
   */
  readonly isPresentSettled: boolean;
  /**
   * While a repair settles what is on the destination: the UUIDs there of what the sync had made before. Null otherwise. The
   * stored catalog no longer tells it once it is being replaced.
   */
  readonly ownedUuids: readonly UUID[] | null;
  /** How many collections have to be copied: none is added or removed before all are. Null until the catalog has been read. */
  readonly collectionCount: number | null;
  /** Every earlier change belongs to the commit, and no other. Null until every instance has been given the commit. */
  readonly commitTime: Timestamp | null;
  /** True from before that time is taken: what an instance reads of the source from then on waits for it. */
  readonly isFixingCommitTime: boolean;
  /**
   * Cluster time of the destination when everything was done there that comes before users write to it, and before any of them
   * could. Null until then.
   */
  readonly writableTime: Timestamp | null;
  /** True once the commit has let users write to the destination. */
  readonly canWrite: boolean;
  readonly failure: FailureRecord | null;
  /** Null unless the sync is being reset. From then on nothing else changes it. */
  readonly reset: ResetRecord | null;
  readonly warnings: readonly string[];
}

/** The sync as one instance shows it: each has its own state. */
export type SyncView = Omit<SyncRecord, 'state'> & {
  readonly state: SyncRecord['state'] | 'PAUSED';
};

export interface CatalogTime {
  readonly db: string;
  readonly time: Timestamp;
}

/** One process of the sync: `_id` is its --id, in the collection `instances`. */
export interface InstanceRecord {
  /** Drawn at each start of the process: the process that wrote it last owns the instance. */
  readonly incarnation: string;
  /** Change events up to here have been applied, acknowledged by a majority. */
  readonly resumeToken: Binary | null;
  readonly appliedTime: Timestamp | null;
  /** The source's oplog was checked up to here (SyncMonitor.appliedOpsTime); missing in records of previous releases. */
  readonly appliedOpsTime?: Timestamp | null;
  readonly copiedBytes: number;
  readonly eventsApplied: number;
  /** Its part of the initial copy is on the destination. */
  readonly isCopied: boolean;
  /** The latest change of the catalog that it has reached, by its place in the change stream: everything before is applied. */
  readonly arrivedAt: string | null;
  /**
   * The number of the command with which it has begun: nothing that it sent before that command can still arrive. Missing in
   * records of previous releases.
   */
  readonly begunWith?: number | null;
  /** How often a process has started to work on the sync. */
  readonly claims: number;
  readonly heartbeatAt: Date;
}

/** How often work on the sync was resumed, by this process or another one. */
export function restartsOf({ claims }: Pick<InstanceRecord, 'claims'>): number {
  return Math.max(0, claims - 1);
}

/** One collection of the source, by its UUID there. */
export interface TrackedCollection {
  readonly uuid: UUID;
  /** Its name on the destination: the one on the source as of the applied change events. */
  readonly namespace: Namespace;
  /** Its UUID on the destination; null while it is being created. */
  readonly destinationUuid: UUID | null;
  /**
   * Its shard key; null for none. That of the source if the source is sharded; otherwise the one that it gets on the
   * destination. On a replica set it has none ({@link DestinationKind.shardKeyOf}).
   */
  readonly shardKey: ShardKey | null;
  /** Its options and indexes on the source. */
  readonly options: Document;
  readonly indexes: readonly IndexSpec[];
  /** `namespace` includes renames up to this time. */
  readonly namedAt: Timestamp;
  /** `namespace` may include renames up to this time: it was read between the two. */
  readonly namedBy: Timestamp;
  /**
   * The collection that this one replaced when a rename gave it its name; null for none. The shards of a source rename one
   * after the other: those that have not renamed yet still accept writes to the replaced one.
   */
  readonly replacedUuid: UUID | null;
  /** `options` and `indexes` include changes up to this time. */
  readonly specifiedAt: Timestamp;
  /** Documents and bytes when it was first seen: estimates. */
  readonly sizeBytes: number;
  readonly documentCount: number;
  /** It was on the destination before the copy, which compares its documents, and copies those that differ. */
  readonly isAdopted: boolean;
  readonly isCopied: boolean;
}

/** One view of the source. Views have no UUID: they are identified by name. */
export interface TrackedView {
  readonly namespace: Namespace;
  readonly options: Document;
  /** `options` includes changes up to this time. */
  readonly specifiedAt: Timestamp;
  /** `options` may include changes up to this time: it was read between the two. */
  readonly specifiedBy: Timestamp;
}

/** A range of `_id` of one collection. */
export interface Partition extends IdRange {
  readonly collection: UUID;
  readonly index: number;
}

/** A partition as it is stored. */
export interface StoredPartition extends Partition {
  readonly isCopied: boolean;
}

/** The stored records of the copy of a collection. */
export interface CopyEvidence {
  readonly collection: UUID;
  /** It is recorded as wholly copied. */
  readonly isCopied: boolean;
  /** Null if it was not partitioned completely. */
  readonly partitions: readonly StoredPartition[] | null;
}

/**
 * The record of a sync that begins now, by a start that one of its instances was given. If the names of all are not given, an
 * instance named like a shard of the source works beside one for each other shard, and any other works alone.
 * @param id - of the instance.
 * @param ids - of all instances; undefined if not given.
 */
export function newRecord(
  options: StartOptions,
  topologies: Readonly<Record<ClusterName, Topology>>,
  id: string,
  ids?: readonly string[],
): SyncRecord {
  const cluster = (name: ClusterName): ClusterRecord => ({
    name,
    clusterId: topologies[name].clusterId,
  });
  const { kind, shards } = topologies[options.source];
  const instances = ids ?? (kind === 'sharded' && shards.includes(id) ? shards : [id]);
  return {
    state: 'RUNNING',
    phase: 'catalog',
    instances,
    isSharedByValue: true,
    command: 'start',
    commandCount: 1,
    formerState: 'IDLE',
    received: instances.map((instance) => (instance === id ? 1 : 0)),
    paused: [],
    catalogEvent: null,
    reversals: 0,
    repairs: 0,
    comparison: 'hashes',
    options,
    limits: {},
    source: cluster(options.source),
    destination: cluster(options.destination),
    startedAt: new Date(),
    startTime: null,
    catalogTimes: [],
    estimatedTotalBytes: null,
    ownsCatalog: false,
    isPresentSettled: false,
    ownedUuids: null,
    collectionCount: null,
    commitTime: null,
    isFixingCommitTime: false,
    writableTime: null,
    canWrite: false,
    failure: null,
    reset: null,
    warnings: [],
  };
}

/**
 * True for a collection of the destination whose `_id` does not tell on which shard a document is: the shard key has other
 * fields, or the ids are compared under a collation and the shard key is not.
 */
export function mayBeOnAnyShard({
  shardKey,
  options,
}: Pick<TrackedCollection, 'shardKey' | 'options'>): boolean {
  return shardKey !== null && (options['collation'] !== undefined || !isPlacedById(shardKey));
}

/** How to find a document of the source on the destination. */
export type Addressing =
  /** Its `_id` determines the shard, or there are no shards. */
  | 'byId'
  /** Its shard key determines the shard, and the change events of the source, a sharded cluster, include the shard key. */
  | 'byShardKey'
  /** Nothing that the source reports determines the shard. */
  | 'onEveryShard';

/**
 * True for a collection whose changes must all be applied one after the other: it is impossible to tell which ids are equal to
 * the server (under a collation), or the order of all documents matters (capped collections).
 */
export function isAppliedInOrder({ options }: Pick<TrackedCollection, 'options'>): boolean {
  return options['collation'] !== undefined || isTrue(options['capped']);
}
