import { readSyncerCommand } from '../../sync-api/command-answer.ts';
import { readProgress, type ReportedProgress } from '../../sync-api/syncer-answers.ts';
import { operandApi, unanswered } from '../operand/operand-api.ts';

/** The parts of an instance's progress that the operator reads. */
export type SyncerProgress = ReportedProgress;

/** The commands that the operator sends. */
export type SyncerCommand =
  'start' | 'pause' | 'resume' | 'commit' | 'reverse' | 'repair' | 'limits' | 'reset';

const unreachableName = 'SyncerUnreachable';
/** start examines both deployments first, and a commit may wait for the other instances. */
const commandDeadlineMs = 150_000;
const runningIntervalMs = 1_000;
/** Only a command changes it: see {@link OperandMonitor}. */
const pausedIntervalMs = 5_000;
const committedIntervalMs = 600_000;

/** The HTTP API of a syncer: parts 2 and 4 of the contract. */
export const syncerApi = operandApi<SyncerProgress, SyncerCommand>({
  readProgress,
  commandDeadlineMs,
  readCommand: readSyncerCommand,
  unclearOutcome: (description) => unanswered(unreachableName, description),
  unreachableName,
  intervalMs: (answer) => {
    switch (answer?.kind === 'progress' ? answer.progress.state : '') {
      case 'COMMITTED':
        return committedIntervalMs;
      case 'PAUSED':
        return pausedIntervalMs;
      default:
        return runningIntervalMs;
    }
  },
});
