import { startReplicaSet, type ReplicaSet } from './mongod/replica-set.ts';
import type { Side } from './mongod/server-pair.ts';
import type { ServerTls } from './mongod/server-tls.ts';
import {
  startShardedCluster,
  type ShardedCluster,
  type ShardedClusterOptions,
} from './sharded/sharded-cluster.ts';

/** A running deployment of either kind, that pods of a cluster can reach. It ends with this object. */
export type Deployment = ReplicaSet | ShardedCluster;

/** What a deployment is: a replica set, or a sharded cluster of so many shards. */
export type DeploymentKind = 'replicaSet' | ShardedClusterOptions['shards'];

/** The names of the deployments. */
const names = { source: 'old', destination: 'new' } as const;

/** Starts one side's deployment at an address of this machine; with TLS, a replica set. */
export async function startDeployment(
  side: Side,
  kind: DeploymentKind,
  hostAddress: string,
  { signal, tls }: { readonly signal?: AbortSignal | undefined; readonly tls?: ServerTls } = {},
): Promise<Deployment> {
  const options = {
    side,
    name: names[side],
    bindIp: [hostAddress],
    advertisedHost: hostAddress,
    parameters: { enableTestCommands: 1, ...tls?.options.parameters },
    ...(signal && { signal }),
  };
  return kind === 'replicaSet'
    ? await startReplicaSet({ ...options, members: 1, args: tls?.options.args ?? [] })
    : await startShardedCluster({ ...options, shards: kind });
}
