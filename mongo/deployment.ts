import type { ClusterClient } from './cluster-client.ts';
import type { Topology } from './topology.ts';

/** The connections to one cluster, and its detected properties, which stay fixed as long as the process lives. */
export interface Deployment extends ClusterClient {
  readonly isSharded: boolean;
  /** The ids of its shards; none if it is a replica set. */
  readonly shards: readonly string[];
}

/** The connections of a client, and its cluster's detected properties. The client still owns the connections. */
export function deploymentOf(
  client: ClusterClient,
  { kind, shards }: Pick<Topology, 'kind' | 'shards'>,
): Deployment {
  const isSharded = kind === 'sharded';
  return { ...client, isSharded, shards: isSharded ? shards : [] };
}
