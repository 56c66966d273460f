import type { Timestamp } from 'mongodb';
import type { ClusterClient } from './cluster-client.ts';
import { runCommand } from './run-command.ts';
import { isRouter } from './topology.ts';

/** True where a client is connected to a sharded cluster: to its routers. */
export async function isSharded(cluster: ClusterClient, signal: AbortSignal): Promise<boolean> {
  const hello = await runCommand(cluster.admin, { hello: 1 }, { signal });
  return isRouter(hello);
}

/**
 * A cluster time that no write to a sharded cluster is later than that was acknowledged before the call, on whatever shard
 * and through whatever router. It may be later than the latest write of any shard: all come to it by the no-ops that servers
 * write when they have nothing else to do (every 10 s). Needs no right but to be logged in.
 *
 * A router takes note of the cluster time in whatever a shard answers, and to list databases it asks all shards.
 */
export async function timeOfAllShards(
  cluster: ClusterClient,
  signal: AbortSignal,
): Promise<Timestamp> {
  const answer = await runCommand(cluster.admin, { listDatabases: 1, nameOnly: true }, { signal });
  return answer.field('$clusterTime').field('clusterTime').timestamp();
}
