import type { Timestamp } from 'mongodb';
import type { ClusterClient } from './cluster-client.ts';
import { runCommand } from './run-command.ts';
import { isRouter } from './topology.ts';

/** True if a client is connected to a sharded cluster, that is, to its routers. */
export async function isSharded(cluster: ClusterClient, signal: AbortSignal): Promise<boolean> {
  const hello = await runCommand(cluster.admin, { hello: 1 }, { signal });
  return isRouter(hello);
}

/**
 * A cluster time at or after every write to a sharded cluster that was acknowledged before the call, on any shard and through
 * any router. It may be later than the latest write of any shard: all reach it by the no-ops that idle servers write (every 10
 * s). Needs no privilege beyond being logged in.
 *
 * A router notes the cluster time in every answer of a shard, and to list databases it asks all shards.
 */
export async function timeOfAllShards(
  cluster: ClusterClient,
  signal: AbortSignal,
): Promise<Timestamp> {
  const answer = await runCommand(cluster.admin, { listDatabases: 1, nameOnly: true }, { signal });
  return answer.field('$clusterTime').field('clusterTime').timestamp();
}
