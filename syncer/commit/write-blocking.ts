import { writeNoop } from '../../mongo/cluster-time.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { SyncError } from '../../service/errors.ts';
import type { ClusterName } from '../api/start-body.ts';
import type { SyncView } from '../state/records.ts';

/**
 * Lets ordinary users write to a cluster, or not. Users with the action bypassWriteBlockingMode always may.
 * The server takes the same mode twice.
 */
export async function setWriteBlocking(
  cluster: ClusterClient,
  isBlocked: boolean,
  signal: AbortSignal,
): Promise<void> {
  // On a connection that has seen its server step down and come back, a server (6.0.5) fails the same mode a second time
  // for good, until something is written there.
  await writeNoop(cluster, 'write blocking', signal);
  await runCommand(cluster.admin, { setUserWriteBlockMode: 1, global: isBlocked }, { signal });
}

/** Where ordinary users cannot write because of a sync, as far as its record says: a cluster is never blocked before that. */
export function blockedClusters(
  record: Pick<SyncView, 'state' | 'phase' | 'options' | 'canWrite'>,
): ClusterName[] {
  const { options, state, phase, canWrite } = record;
  if (!options.enableUserWriteBlocking) return [];
  const isSourceBlocked = state === 'COMMITTING' || state === 'COMMITTED' || phase === 'handover';
  return [...(isSourceBlocked ? [options.source] : []), ...(canWrite ? [] : [options.destination])];
}

/** Says where ordinary users cannot write; undefined where they can everywhere. */
export function blockedText(record: Parameters<typeof blockedClusters>[0]): string | undefined {
  const names = blockedClusters(record);
  return names.length === 0
    ? undefined
    : `writes of ordinary users are blocked on ${names.join(' and ')}`;
}

/** The same error, which says beside it where ordinary users cannot write. */
export function withBlocked(error: SyncError, blocked: string | undefined): SyncError {
  if (blocked === undefined) return error;
  return new SyncError(error.name, `${error.message}; ${blocked}`, { cause: error });
}
