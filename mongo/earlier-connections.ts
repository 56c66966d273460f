import type { ClusterClient } from './cluster-client.ts';

/**
 * How many connections a cluster takes for open on which something may still come, or be under way, that was sent before: by the
 * process before this one, or by this one, which has given it up.
 */
export async function earlierConnections(
  cluster: ClusterClient,
  signal: AbortSignal,
): Promise<number> {
  const { formerConnections, lostWrites } = cluster;
  const formerCount = await formerConnections.count(cluster, signal);
  return formerCount + (await lostWrites.pending(cluster, signal));
}
