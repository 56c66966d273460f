import type { Db, Document } from 'mongodb';
import { connectionError } from './server-errors.ts';

/** How long a short command may take. */
export const commandDeadlineMs = 15_000;

/** What a command is given up by. */
export interface Deadline {
  readonly signal: AbortSignal;
  /**
   * Default: that of a short command. `none` for what takes as long as there are documents or others hold it up: it is
   * given up when the server does not work on it any more, and has not answered (MendedConnection).
   */
  readonly deadlineMs?: number | 'none';
}

/**
 * Runs a command against a cluster, with a deadline.
 * @throws SyncError ClusterUnreachable or AuthenticationFailed where the cluster cannot be used at all; errors of the
 * command itself as the driver throws them.
 */
export async function runCommand(
  db: Db,
  command: Document,
  { signal, deadlineMs = commandDeadlineMs }: Deadline,
): Promise<Document> {
  const limits = deadlineMs === 'none' ? [] : [AbortSignal.timeout(deadlineMs)];
  try {
    return await db.command(command, { signal: AbortSignal.any([signal, ...limits]) });
  } catch (error) {
    signal.throwIfAborted();
    throw connectionError(error) ?? error;
  }
}
