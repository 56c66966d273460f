import type { ClusterClient } from './cluster-client.ts';
import type { Topology } from './topology.ts';

/** The connections to one cluster, and what it was seen to be: it stays so as long as the process lives. */
export interface Deployment extends ClusterClient {
  readonly isSharded: boolean;
  /** The ids of its shards; none where it is a replica set. */
  readonly shards: readonly string[];
}

/** The connections of a client, and what their cluster was seen to be. The client still owns the connections. */
export function deploymentOf(
  client: ClusterClient,
  { kind, shards }: Pick<Topology, 'kind' | 'shards'>,
): Deployment {
  const isSharded = kind === 'sharded';
  return { ...client, isSharded, shards: isSharded ? shards : [] };
}
