import type { WriteConcernSettings } from 'mongodb';
import { SyncError } from '../service/errors.ts';
import type { ClusterClient } from './cluster-client.ts';
import { runCommand } from './run-command.ts';
import { writeNoop } from './cluster-time.ts';
import { isRouter } from './topology.ts';

/**
 * Runs work on a cluster whose primary is the same before and after it, and then still has a majority behind it. A rollback can
 * no longer undo what the work has read there, although the server returns its catalog (listCollections, listIndexes) without
 * regard to read concerns. (Once the driver has seen a primary, it accepts none that is older.)
 * @throws SyncError ClusterUnreachable if the primary has changed: retry the work.
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

/**
 * Runs writes that need not each be acknowledged by a majority: when it resolves, a majority has all of them. They wait for the
 * disk and for other members once, not each. Through a router, which does not report elections, each write is acknowledged by a
 * majority.
 * @param run - gets the write concern to write with.
 * @throws SyncError ClusterUnreachable if the primary has changed, so that a part may be lost: retry the work.
 */
export async function acknowledgedTogether<T>(
  cluster: ClusterClient,
  signal: AbortSignal,
  run: (concern: WriteConcernSettings) => Promise<T>,
): Promise<T> {
  const before = await electionId(cluster, signal);
  if (before === '') return await run({ w: 'majority' });
  const result = await run({ w: 1 });
  // Within one term of a primary, a majority that has the last write has all before it.
  await writeNoop(cluster, 'written', signal);
  if ((await electionId(cluster, signal)) === before) return result;
  throw new SyncError('ClusterUnreachable', 'the primary changed before a majority had the write');
}

/** Changes with each election; through a router there is none. */
async function electionId(cluster: ClusterClient, signal: AbortSignal): Promise<string> {
  const hello = await runCommand(cluster.admin, { hello: 1 }, { signal });
  return isRouter(hello) ? '' : hello.field('electionId').objectId().toHexString();
}
