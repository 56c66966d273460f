import { BSONRegExp, type Document, type UUID } from 'mongodb';
import { readConfig } from '../../mongo/config-database.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import { syncDatabase, type Namespace } from '../../mongo/namespace.ts';
import {
  backgroundBuild,
  backgroundBuildsUnderWay,
  operationId,
  ownOperations,
  writesOnShards,
} from '../../mongo/own-operations.ts';
import { runCommand } from '../../mongo/run-command.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import type { Topology } from '../../mongo/topology.ts';
import { syncerName } from '../store/clusters.ts';
import type { TrackedCollection } from '../store/records.ts';

/** The differences between a replica set and a sharded cluster as destinations. Chosen once, when the destination is made. */
export interface DestinationKind {
  /**
   * Each shard builds an index on its own: if one has refused it, the indexes that others have built would refuse documents,
   * and are not listed everywhere.
   */
  readonly buildsOnEachShard: boolean;
  /** The shard key that a collection has there: none on a replica set, whatever it has on the source. */
  shardKeyOf(collection: Pick<TrackedCollection, 'shardKey'>): ShardKey | null;
  /**
   * Whether a collection is sharded only on the source: documents that have the same `_id` on two shards cannot both be there.
   */
  mergesShards(collection: Pick<TrackedCollection, 'shardKey'>): boolean;
  /** Whether a collection can be renamed from one name to another. */
  canRename(from: Namespace, to: Namespace): boolean;
  /**
   * The operations on data that instances of a syncer run, which their user sees without a role; on a sharded cluster,
   * everything that its shards write. Identified by names that stay the same while they run.
   */
  operationsUnderWay(signal: AbortSignal): Promise<Set<string>>;
  /** Whether ordinary users are blocked from writing. */
  isWriteBlocked(signal: AbortSignal): Promise<boolean>;
  /** How many commands build an index of a collection without anyone waiting for them. */
  backgroundBuilds(collectionUUID: UUID | null, name: string, signal: AbortSignal): Promise<number>;
}

/** Commands that change what is copied, or who may write. All others on that database read, or leave no trace. */
const writesOnAdmin = ['renameCollection', 'setUserWriteBlockMode'] as const;

/** `userWriteBlockMode` of serverStatus when ordinary users cannot write. */
const blockedMode = 2;

/** Picks the kind from what the destination turned out to be. */
export function destinationKindOf(destination: Deployment): DestinationKind {
  return destination.isSharded ? shardedKind(destination) : replicaSetKind(destination);
}

function replicaSetKind(destination: Deployment): DestinationKind {
  const { admin, decoded } = destination;
  const ownWrites: Document = {
    // A new coordinator waits for what the one before it has sent, under another name.
    appName: { $in: [decoded.options.appName, new BSONRegExp(`^${syncerName}`)] },
    op: { $nin: ['query', 'getmore', 'none'] },
    'command.$db': { $ne: syncDatabase },
    $or: [
      { 'command.$db': { $ne: 'admin' } },
      ...writesOnAdmin.map((name) => ({ [`command.${name}`]: { $exists: true } })),
    ],
    'command.comment': { $ne: backgroundBuild },
  };
  return {
    buildsOnEachShard: false,
    shardKeyOf: () => null,
    mergesShards: ({ shardKey }) => shardKey !== null,
    canRename: () => true,
    async operationsUnderWay(signal) {
      const operations = await ownOperations(admin, ownWrites, signal);
      return new Set(operations.map(operationId));
    },
    async backgroundBuilds(collectionUUID, name, signal) {
      const build = { collectionUUID: collectionUUID ?? undefined, name };
      return await backgroundBuildsUnderWay(admin, build, false, signal);
    },
    async isWriteBlocked(signal) {
      return await isWriteBlocked(destination, 'replicaSet', signal);
    },
  };
}

function shardedKind(destination: Deployment): DestinationKind {
  const { admin } = destination;
  return {
    buildsOnEachShard: true,
    shardKeyOf: ({ shardKey }) => shardKey,
    mergesShards: () => false,
    // No sharded collection can be renamed into another database, nor any to a database with another primary shard (6.0).
    canRename: (from, to) => from.db === to.db,
    async operationsUnderWay(signal) {
      return await writesOnShards(admin, syncDatabase, signal);
    },
    async backgroundBuilds(collectionUUID, name, signal) {
      const build = { collectionUUID: collectionUUID ?? undefined, name };
      return await backgroundBuildsUnderWay(admin, build, true, signal);
    },
    async isWriteBlocked(signal) {
      return await isWriteBlocked(destination, 'sharded', signal);
    },
  };
}

/**
 * Whether ordinary users are blocked from writing to a cluster. A router does not report it; the config server keeps it beside
 * the shards (6.0.5).
 */
export async function isWriteBlocked(
  cluster: ClusterClient,
  kind: Topology['kind'],
  signal: AbortSignal,
): Promise<boolean> {
  switch (kind) {
    case 'sharded': {
      const blocks = { find: 'user_writes_critical_sections', filter: { blockUserWrites: true } };
      return (await readConfig(cluster, blocks, signal)).length > 0;
    }
    case 'replicaSet': {
      const status = await runCommand(cluster.admin, { serverStatus: 1, repl: 1 }, { signal });
      return status.field('repl').field('userWriteBlockMode').integer() === blockedMode;
    }
  }
}
