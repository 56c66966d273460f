import type { SyncerProgressAnswer, SyncProgress } from '../../sync-api/json.ts';
import { leftIndexWarnings } from '../monitor/left-index-warnings.ts';
import { unreadableOplogWarning } from '../source/applied-ops.ts';
import { followsSource } from '../changes/watch-applied-ops.ts';
import { neededOplog, oplogWarning } from '../monitor/oplog-window.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { catchUpOf, lagOf } from '../monitor/lag.ts';
import { sentWarning, type CommitWord } from '../monitor/commit-word.ts';
import type { SentCommand } from '../store/live-sync.ts';
import { blockedText } from '../destination/write-blocking.ts';
import { digestOf } from '../store/instances.ts';
import { resetError } from '../store/reset-error.ts';
import type { Phase, SyncView } from '../store/records.ts';

/** What `info` says of each phase (contract 2.2). */
const infoOf: Record<Phase, NonNullable<SyncProgress['info']>> = {
  catalog: 'collection copy',
  copy: 'collection copy',
  changes: 'change event application',
  restoring: 'waiting for commit to complete',
  done: 'commit completed',
  handover: 'change event application',
  loosening: 'change event application',
};

/** What progress is made of, beside the sync's record. */
export interface ProgressSource {
  readonly syncerId: string;
  readonly coordinatorId: string | null;
  /** True once the process works on the sync. */
  readonly isWorking: boolean;
  readonly sourceHost: string;
  readonly destinationHost: string;
  readonly commit: CommitWord;
  /** The command that is on its way to the store. */
  readonly sent: SentCommand | null;
  readonly monitor: Pick<
    SyncMonitor,
    | 'lagSeconds'
    | 'copiedBytes'
    | 'eventsApplied'
    | 'catchUpSeconds'
    | 'oplogSecondsLeft'
    | 'oplogState'
    | 'isOplogUnreadable'
    | 'appliedTime'
    | 'indexBuilding'
    | 'leftIndexes'
    | 'troubles'
  >;
}

/** The body of a progress answer when no sync was started: all fields but two are null. */
export function idleProgress(): SyncerProgressAnswer {
  return {
    progress: {
      state: 'IDLE',
      startedAt: null,
      optionsDigest: null,
      reversals: null,
      canCommit: false,
      commitUnderWay: null,
      canWrite: null,
      info: null,
      lagTimeSeconds: null,
      collectionCopy: null,
      directionMapping: null,
      syncerID: null,
      coordinatorID: null,
      totalEventsApplied: null,
      estimatedSecondsToCatchUp: null,
      estimatedOplogTimeRemainingSeconds: null,
      indexBuilding: null,
      warnings: null,
    },
  };
}

/** The body of a progress answer of a sync. */
export function syncProgress(record: SyncView, source: ProgressSource): SyncerProgressAnswer {
  const { monitor, commit, sent } = source;
  return {
    progress: {
      state: record.state,
      startedAt: record.startedAt.toISOString(),
      optionsDigest: digestOf(record),
      reversals: record.reversals,
      canCommit: commit.canCommit,
      commitUnderWay: commit.commitUnderWay,
      canWrite: record.canWrite,
      info: infoText(record),
      lagTimeSeconds: lagOf(record, monitor),
      collectionCopy: {
        estimatedTotalBytes: record.estimatedTotalBytes ?? 0,
        estimatedCopiedBytes: monitor.copiedBytes,
      },
      directionMapping: {
        Source: `${record.source.name}: ${source.sourceHost}`,
        Destination: `${record.destination.name}: ${source.destinationHost}`,
      },
      syncerID: source.syncerId,
      coordinatorID: source.coordinatorId,
      totalEventsApplied: monitor.eventsApplied,
      estimatedSecondsToCatchUp: catchUpOf(record, source.isWorking, monitor),
      estimatedOplogTimeRemainingSeconds: needsOplog(record) ? monitor.oplogSecondsLeft : null,
      indexBuilding: monitor.indexBuilding,
      warnings: [
        ...stateWarnings(record, monitor),
        ...commit.warnings,
        // What it is of a commit, that says itself.
        ...(sent && sent.command !== 'commit' ? [sentText(sent, record)] : []),
        // The commit has built them all, though an instance that has not led it may not have heard of that.
        ...(record.state === 'COMMITTED' ? [] : leftIndexWarnings(monitor.leftIndexes)),
        ...monitor.troubles.warnings(),
        ...record.warnings,
      ],
    },
  };
}

/** What `info` says. An instance that has not been given a command yet is not where the others are. */
function infoText({ state, phase, reset }: SyncView): SyncProgress['info'] {
  // Nothing of it is done any more.
  if (reset !== null && state === 'PAUSED') return null;
  switch (state) {
    case 'COMMITTING':
      return infoOf.restoring;
    case 'COMMITTED':
      return infoOf.done;
    case 'RUNNING':
    case 'PAUSED':
      return infoOf[phase];
  }
}

/** Warnings of how things are, there for as long as they are so; those of what happened are kept in the record. */
function stateWarnings(
  record: SyncView,
  {
    oplogState,
    isOplogUnreadable,
    appliedTime,
  }: Pick<SyncMonitor, 'oplogState' | 'isOplogUnreadable' | 'appliedTime'>,
): string[] {
  const needed = neededOplog(record, appliedTime);
  const oplog = needed && oplogWarning(oplogState, needed);
  const unreadable =
    isOplogUnreadable && followsSource(record.phase)
      ? unreadableOplogWarning(record.options)
      : undefined;
  return [resetError(record)?.message, blockedText(record), oplog, unreadable].filter(
    (warning) => warning !== undefined,
  );
}

function sentText({ command, sentMs }: SentCommand, { destination }: SyncView): string {
  return sentWarning(command, performance.now() - sentMs, destination.name);
}

/** A committed sync needs no oplog any more, but for a reversal. */
function needsOplog({ state, options }: SyncView): boolean {
  return state !== 'COMMITTED' || options.reversible;
}
