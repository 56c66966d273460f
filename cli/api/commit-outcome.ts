import { messageOf, SyncError, toSyncError } from '../../service/errors.ts';
import type { SyncProgress } from './combine.ts';
import type { Instances } from './instances.ts';

/** What a user must know while the outcome of a commit is unknown. */
export const mayStillCome =
  'the commit was sent and may still be carried out: do not let applications write to the source until progress shows its outcome';

/**
 * The outcome of a commit: `taken` if an instance has it, which is not taken back; `none` if each instance says that
 * none is under way; `unknown` if one cannot say so.
 */
export function commitOutcome({
  instances,
  commitUnderWay,
}: Pick<SyncProgress, 'instances' | 'commitUnderWay'>): 'taken' | 'none' | 'unknown' {
  if (instances.some(({ state }) => state === 'COMMITTING' || state === 'COMMITTED'))
    return 'taken';
  return commitUnderWay === false ? 'none' : 'unknown';
}

/** What a user must know of a commit that somebody can still prevent from ending, but nobody can take back. */
export const cannotBeUndone =
  'the commit has been accepted, which cannot be undone: do not let applications write to the source';

/**
 * The error of a command that has failed after it had sent a commit: a reader must not conclude that there is none. It keeps its name,
 * by which it is looked up, unless it only hides the outcome of the commit.
 * @param warning - {@link cannotBeUndone} or {@link mayStillCome}.
 */
export function afterCommit(error: unknown, warning: string): SyncError {
  const known = toSyncError(error);
  const isOpen = warning === mayStillCome && known.row.retryable;
  const name = isOpen ? 'CommitUnknown' : known.name;
  // The cause shows whether the reader of an output has gone, or the disk is full.
  return new SyncError(name, `${known.message}; ${warning}`, { cause: known.cause ?? error });
}

/** Whether an instance does not have the commit that another one has. */
export function lacksCommit({ instances }: Pick<SyncProgress, 'instances'>): boolean {
  return instances.some(({ state }) => state !== 'COMMITTING' && state !== 'COMMITTED');
}

/**
 * Determines the outcome of a commit whose request failed: a refusal or a missing answer does not prove that no
 * instance has accepted it. Resolves if every instance has.
 * @throws the error of the request if no commit is under way; SyncError CommitUnknown if that is not proven.
 */
export async function requireCommitTaken(
  instances: Pick<Instances, 'read'>,
  error: unknown,
  signal: AbortSignal,
): Promise<void> {
  const progress = await progressOf(instances, signal);
  const outcome = progress ? commitOutcome(progress) : 'unknown';
  if (outcome === 'none') throw error;
  if (outcome === 'taken' && progress && !lacksCommit(progress)) return;
  const description =
    outcome === 'taken'
      ? 'some instances have accepted the commit, which cannot be undone: send it to all'
      : mayStillCome;
  throw new SyncError('CommitUnknown', `${messageOf(error)}; ${description}`, { cause: error });
}

async function progressOf(
  instances: Pick<Instances, 'read'>,
  signal: AbortSignal,
): Promise<SyncProgress | undefined> {
  try {
    return (await instances.read(signal)).progress;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
