import { messageOf } from '../../service/errors.ts';
import type { SyncProgress } from '../api/combine.ts';
import { cannotBeUndone, commitOutcome, mayStillCome } from '../api/commit-outcome.ts';
import type { Instances } from '../api/instances.ts';
import type { Screen } from '../terminal/screen.ts';
import type { RunPage } from './web/run-page.ts';

/** How long a pause may take when the command receives a signal to end: less than the shutdown of a program. */
const pauseDeadlineMs = 20_000;

/** What the user can do about a migration that has not ended. */
const toContinue = 'run the same command again to continue';

/** What is needed to pause it. */
interface PausedRun {
  readonly instances: Instances;
  readonly screen: Pick<Screen, 'step'>;
  readonly page: Pick<RunPage, 'stop'> | undefined;
}

/**
 * Pauses a sync when the command receives a signal to end.
 * @param isCommitSent - whether this command has sent a commit: another one may have sent it, too.
 */
export async function pause(
  { instances, screen, page }: PausedRun,
  isCommitSent: boolean,
): Promise<void> {
  const signal = AbortSignal.timeout(pauseDeadlineMs);
  screen.step('pausing');
  let mayBeCommitted = isCommitSent;
  let text: string;
  try {
    const { progress } = await instances.read(signal);
    mayBeCommitted ||= progress?.commitUnderWay === true;
    text = await pausedText(instances, progress, mayBeCommitted, signal);
  } catch (error) {
    const stopped = `the sync could not be paused (${messageOf(error)}); this command has stopped`;
    text = mayBeCommitted ? `${stopped}: ${mayStillCome}` : stopped;
  }
  screen.step(`${text}; ${toContinue}`, 'warning');
  page?.stop(`${text}; ${toContinue}`);
}

/** Pauses what has no commit. @returns how the sync was left. */
async function pausedText(
  instances: Instances,
  progress: SyncProgress | undefined,
  mayBeCommitted: boolean,
  signal: AbortSignal,
): Promise<string> {
  const outcome = progress ? commitOutcome(progress) : 'unknown';
  if (outcome === 'taken')
    // An instance without the commit must get it: paused, it would keep the others from completing it.
    return progress?.state === 'COMMITTED'
      ? 'stopped after the commit'
      : `stopped during the commit: ${cannotBeUndone}`;
  // A pause would wait for the commit.
  if (mayBeCommitted && outcome === 'unknown') return `stopped: ${mayStillCome}`;
  if (!progress) return 'stopped';
  await instances.command('pause', 'RUNNING', progress, signal);
  return progress.state === 'RUNNING' || progress.state === 'PAUSED' ? 'paused' : 'stopped';
}
