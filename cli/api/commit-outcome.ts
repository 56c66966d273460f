import { messageOf, SyncError } from '../../service/errors.ts';
import type { SyncProgress } from './combine.ts';
import type { Instances } from './instances.ts';

/** What a person has to know as long as nobody knows what becomes of a commit. */
export const mayStillCome =
  'the commit was sent and may still be carried out: do not let applications write to the source until progress shows its outcome';

/**
 * What has become of a commit: `taken` where an instance has it, which is not taken back; `none` where each instance says that
 * none is under way; `unknown` where one cannot say so.
 */
export function commitOutcome({
  instances,
  commitUnderWay,
}: Pick<SyncProgress, 'instances' | 'commitUnderWay'>): 'taken' | 'none' | 'unknown' {
  if (instances.some(({ state }) => state === 'COMMITTING' || state === 'COMMITTED'))
    return 'taken';
  return commitUnderWay === false ? 'none' : 'unknown';
}

/**
 * Finds out what a commit has come to whose request failed: that it was refused, or was not answered, does not prove that no
 * instance has taken it. Resolves where every instance has.
 * @throws the error that it failed with where none is under way; SyncError CommitUnknown where that is not proven.
 */
export async function requireCommitTaken(
  instances: Pick<Instances, 'read'>,
  error: unknown,
  signal: AbortSignal,
): Promise<void> {
  const progress = await progressOf(instances, signal);
  const outcome = progress ? commitOutcome(progress) : 'unknown';
  if (outcome === 'none') throw error;
  const missing = progress?.instances.filter(({ state }) => state === 'RUNNING') ?? [];
  if (outcome === 'taken' && missing.length === 0) return;
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
