import type { ClusterClient } from './cluster-client.ts';

/**
 * How many connections a cluster considers open that may still deliver or run something sent earlier: by the process before
 * this one, or by this one on a connection that it abandoned.
 */
export async function earlierConnections(
  cluster: ClusterClient,
  signal: AbortSignal,
): Promise<number> {
  const { formerConnections, lostWrites } = cluster;
  const formerCount = await formerConnections.count(cluster, signal);
  return formerCount + (await lostWrites.pending(cluster, signal));
}
