import type { Document, UUID } from 'mongodb';
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
import type { Topology } from '../../mongo/topology.ts';

/** Where a replica set and a sharded cluster differ as destinations. Chosen once, when the destination is made. */
export interface DestinationKind {
  /**
   * Each shard builds an index by itself: where one has refused it, what others have built would refuse documents, and is not
   * listed everywhere.
   */
  readonly buildsOnEachShard: boolean;
  /** Whether a collection can be renamed from one name to another. */
  canRename(from: Namespace, to: Namespace): boolean;
  /**
   * The operations on data that run under the name of this instance, which a user sees without a role; on a sharded cluster, all
   * that its shards write. By names that stay the same while they run.
   */
  operationsUnderWay(signal: AbortSignal): Promise<Set<string>>;
  /** Whether ordinary users are kept from writing. */
  isWriteBlocked(signal: AbortSignal): Promise<boolean>;
  /** How many commands build an index of a collection, and nothing waits for them. */
  backgroundBuilds(collectionUUID: UUID | null, name: string, signal: AbortSignal): Promise<number>;
}

/** Commands that change what is copied, or who may write. All others on that database read, or leave nothing. */
const writesOnAdmin = ['renameCollection', 'setUserWriteBlockMode'] as const;

/** `userWriteBlockMode` of serverStatus when ordinary users cannot write. */
const blockedMode = 2;

/** What a destination does by what it was seen to be. */
export function destinationKindOf(destination: Deployment): DestinationKind {
  return destination.isSharded ? shardedKind(destination) : replicaSetKind(destination);
}

function replicaSetKind(destination: Deployment): DestinationKind {
  const { admin, decoded } = destination;
  const ownWrites: Document = {
    appName: decoded.options.appName,
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
    // No sharded collection goes into another database, nor any to one whose primary shard is another (6.0).
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
 * Whether ordinary users are kept from writing to a cluster. A router does not tell; the config server keeps it beside the
 * shards (6.0.5).
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
