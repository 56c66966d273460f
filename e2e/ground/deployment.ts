import { startReplicaSet } from './mongod/replica-set.ts';
import type { TestUser } from './mongod/users.ts';
import { startShardedCluster, type ShardedClusterOptions } from './sharded/sharded-cluster.ts';

/** A running deployment of either kind, that pods of a cluster can reach. It ends with this object. */
export interface Deployment extends AsyncDisposable {
  uri(user: TestUser): string;
}

/** What a deployment is: a replica set, or a sharded cluster of so many shards. */
export type DeploymentKind = 'replicaSet' | ShardedClusterOptions['shards'];

/** Starts a deployment at an address of this machine. */
export async function startDeployment(
  name: string,
  kind: DeploymentKind,
  hostAddress: string,
  signal?: AbortSignal,
): Promise<Deployment> {
  const options = {
    name,
    bindIp: [hostAddress],
    advertisedHost: hostAddress,
    ...(signal && { signal }),
  };
  return kind === 'replicaSet'
    ? await startReplicaSet({ ...options, members: 1, parameters: { enableTestCommands: 1 } })
    : await startShardedCluster({ ...options, shards: kind });
}
