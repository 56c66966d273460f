import type { Db, Document } from 'mongodb';
import { messageOf, SyncError } from '../service/errors.ts';
import type { CheckedValue } from './checked-value.ts';
import { runOnPrimary } from './command-on-router.ts';
import { codeOf, connectionError, serverCode } from './server-errors.ts';
import { checkedWhenSent, checkOf } from './write-guard.ts';

/** How long a short command may take. */
export const commandDeadlineMs = 15_000;

/** The server gives a command up so much earlier than we do: its answer still comes, and the connection stays. */
const answerMs = 1_000;

/** What a command is given up by. */
export interface Deadline {
  readonly signal: AbortSignal;
  /**
   * Default: that of a short command. `none` for what takes as long as there are documents or others hold it up: it is
   * given up when the server does not work on it any more, and has not answered (GuardedConnection).
   */
  readonly deadlineMs?: number | 'none';
}

/**
 * A command that the server gives up as well, before we do. It does not notice that a client has gone while it waits for a
 * majority, or for a cluster time: without a limit, what is given up here and sent again would pile up there. `maxTimeMS`
 * ends both waits (6.0.5), whatever the command.
 */
export function limited(command: Document, deadlineMs: number): Document {
  const copy = { ...command, maxTimeMS: Math.max(1, deadlineMs - answerMs) };
  const check = checkOf(command);
  return check ? checkedWhenSent(copy, check) : copy;
}

/** What a {@link limited} command failed with, under its name where that was its limit, or the connection. */
export function limitError(error: unknown): SyncError | undefined {
  if (codeOf(error) !== serverCode.maxTimeMsExpired) return connectionError(error);
  const description = `the server has not completed a command in time: ${messageOf(error)}`;
  return new SyncError('ClusterUnreachable', description, { cause: error });
}

/**
 * Runs a command against a cluster, with a deadline. What is read of the answer, and is not there, throws a MalformedAnswer that
 * names the server.
 * @throws SyncError ClusterUnreachable or AuthenticationFailed where the cluster cannot be used at all; errors of the
 * command itself as the driver throws them.
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
