import type { Db, Document } from 'mongodb';
import { messageOf, SyncError } from '../service/errors.ts';
import type { CheckedValue } from './checked-value.ts';
import { runOnPrimary } from './command-on-router.ts';
import { codeOf, connectionError, serverCode } from './server-errors.ts';
import { checkedWhenSent, checkOf } from './write-guard.ts';

/** How long a short command may take. */
export const commandDeadlineMs = 15_000;

/** The server abandons a command this much earlier than we do: its answer still arrives, and the connection stays. */
const answerMs = 1_000;

/** When to abandon a command. */
export interface Deadline {
  readonly signal: AbortSignal;
  /**
   * Default: that of a short command. `none` for a command whose time depends on the number of documents, or on others: it is
   * abandoned if the server no longer works on it, and has not answered (GuardedConnection).
   */
  readonly deadlineMs?: number | 'none';
}

/**
 * A command that the server abandons, too, before we do. While it waits for a majority, or for a cluster time, it does not
 * notice that a client has gone: without a limit, commands that are abandoned here and sent again would pile up there.
 * `maxTimeMS` ends both waits (6.0.5), for any command.
 */
export function limited(command: Document, deadlineMs: number): Document {
  const copy = { ...command, maxTimeMS: Math.max(1, deadlineMs - answerMs) };
  const check = checkOf(command);
  return check ? checkedWhenSent(copy, check) : copy;
}

/** The named error of a {@link limited} command that failed because of its limit, or the connection. */
export function limitError(error: unknown): SyncError | undefined {
  if (codeOf(error) !== serverCode.maxTimeMsExpired) return connectionError(error);
  const description = `the server has not completed a command in time: ${messageOf(error)}`;
  return new SyncError('ClusterUnreachable', description, { cause: error });
}

/**
 * Runs a command against a cluster, with a deadline. Reading a missing field of the answer throws a MalformedAnswer that names
 * the server.
 * @throws SyncError ClusterUnreachable or AuthenticationFailed if the cluster cannot be used at all; errors of the command
 * itself as the driver throws them.
 */
export async function runCommand(
  db: Db,
  command: Document,
  { signal, deadlineMs = commandDeadlineMs }: Deadline,
): Promise<CheckedValue> {
  try {
    if (deadlineMs === 'none') return await runOnPrimary(db, command, signal);
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
    return await runOnPrimary(db, limited(command, deadlineMs), deadline);
  } catch (error) {
    signal.throwIfAborted();
    throw limitError(error) ?? error;
  }
}
