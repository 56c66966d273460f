import { ObjectId } from 'mongodb';
import { SyncError } from '../service/errors.ts';
import { runCommand, type ClusterClient } from './cluster-client.ts';
import { writeNoop } from './cluster-time.ts';

/**
 * Runs work on a cluster whose primary is the same before it and after it, and then still has a majority behind it. What
 * the work has read there is no longer taken back by a rollback, although the server gives its catalog (listCollections,
 * listIndexes) without regard to read concerns. (Once the driver has seen a primary, it takes none that is older.)
 * @throws SyncError ClusterUnreachable when the primary has changed: the work is to be repeated.
 */
export async function underOnePrimary<T>(
  cluster: ClusterClient,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T> {
  const before = await electionId(cluster, signal);
  const result = await run();
  await writeNoop(cluster, 'catalog', signal);
  if ((await electionId(cluster, signal)) === before) return result;
  throw new SyncError('ClusterUnreachable', 'the primary changed while the catalog was read');
}

/** Another one after each election; none through a router. */
async function electionId(cluster: ClusterClient, signal: AbortSignal): Promise<string> {
  const hello = await runCommand(cluster.admin, { hello: 1 }, { signal });
  const id: unknown = hello['electionId'];
  return id instanceof ObjectId ? id.toHexString() : '';
}
