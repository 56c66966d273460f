import { runCommand, type ClusterClient } from '../../mongo/cluster-client.ts';

/**
 * Lets ordinary users write to a cluster, or not. Users with the action bypassWriteBlockingMode always may.
 * The server takes the same mode twice.
 */
export async function setWriteBlocking(
  cluster: ClusterClient,
  isBlocked: boolean,
  signal: AbortSignal,
): Promise<void> {
  await runCommand(cluster.admin, { setUserWriteBlockMode: 1, global: isBlocked }, { signal });
}
