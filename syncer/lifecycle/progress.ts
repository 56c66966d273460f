import type { SyncerProgressAnswer, SyncProgress } from '../../sync-api/json.ts';
import { blockedText } from '../destination/write-blocking.ts';
import { leftIndexWarnings, sentWarning } from '../monitor/commit-word.ts';
import { catchUpOf, lagOf } from '../monitor/lag.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { neededOplog, oplogWarning } from '../monitor/oplog-window.ts';
import { followsSource } from '../changes/watch-applied-ops.ts';
import { unreadableOplogWarning } from '../source/applied-ops.ts';
import { digestOf, repairsOf, resetError } from '../store/instances.ts';
import type { SentCommand } from '../store/live-sync.ts';
import type { Phase, SyncView } from '../store/records.ts';
import type { Sync } from './sync.ts';

/** The `info` of each phase (contract 2.2). */
const infoOf: Record<Phase, NonNullable<SyncProgress['info']>> = {
  catalog: 'collection copy',
  copy: 'collection copy',
  changes: 'change event application',
  restoring: 'waiting for commit to complete',
  done: 'commit completed',
  handover: 'change event application',
  preparing: 'change event application',
};

/** The body of a progress answer when no sync was started: all fields but two are null. */
const idleProgress: SyncerProgressAnswer = {
  progress: {
    state: 'IDLE',
    startedAt: null,
    optionsDigest: null,
    reversals: null,
    repairs: null,
    canCommit: false,
    commitUnderWay: null,
    canWrite: null,
    info: null,
    ceaStage: null,
    lagTimeSeconds: null,
    collectionCopy: null,
    directionMapping: null,
    syncerID: null,
    coordinatorID: null,
    totalEventsApplied: null,
    estimatedSecondsToCatchUp: null,
    estimatedOplogTimeRemainingSeconds: null,
    indexBuilding: null,
    reconciliation: null,
    limits: null,
    warnings: null,
  },
};

/** A script that asked for a verification must not take a sync without one for verified. */
const notVerifiedText =
  'verification.enabled has no effect: the sync tool compares nothing, and canCommit does not wait for a comparison; run the verifier';

/** The body of a progress answer. */
export function progressOf(sync: Sync | undefined): SyncerProgressAnswer {
  const record = sync?.view;
  if (!record) return idleProgress;
  const { monitor } = sync;
  const commit = sync.commitGate.word;
  const { sent } = sync.live;
  const { instanceId, topologies } = sync.pair;
  const mapped = ({ name }: SyncView['source']): string => `${name}: ${topologies[name].host}`;
  return {
    progress: {
      state: record.state,
      startedAt: record.startedAt.toISOString(),
      optionsDigest: digestOf(record),
      reversals: record.reversals,
      repairs: repairsOf(sync.live.stored, instanceId),
      canCommit: commit.canCommit,
      commitUnderWay: commit.commitUnderWay,
      canWrite: record.canWrite,
      info: infoText(record),
      ceaStage: ceaStageOf(record, monitor),
      lagTimeSeconds: lagOf(record, monitor),
      collectionCopy: {
        estimatedTotalBytes: record.estimatedTotalBytes ?? 0,
        estimatedCopiedBytes: monitor.copiedBytes,
      },
      directionMapping: {
        Source: mapped(record.source),
        Destination: mapped(record.destination),
      },
      syncerID: instanceId,
      coordinatorID: sync.coordinatorId,
      totalEventsApplied: monitor.eventsApplied,
      estimatedSecondsToCatchUp: catchUpOf(record, sync.isWorking, monitor),
      estimatedOplogTimeRemainingSeconds: needsOplog(record) ? monitor.oplogSecondsLeft : null,
      indexBuilding: monitor.indexBuilding,
      reconciliation: reconciliationOf(record, monitor),
      limits: sync.pace.report(record.limits),
      warnings: [
        ...stateWarnings(record, monitor),
        ...sync.pace.warnings,
        ...commit.warnings,
        // The commit's own warnings cover a commit.
        ...(sent && sent.command !== 'commit' ? [sentText(sent, record)] : []),
        // The commit has built them all, even if an instance that did not lead it has not heard of that.
        ...(record.state === 'COMMITTED' ? [] : leftIndexWarnings(monitor.leftIndexes)),
        ...monitor.retryWarnings.warnings(),
        ...record.warnings,
      ],
    },
  };
}

/** The `info` of a view. An instance that has not been given a command yet is not where the others are. */
function infoText({ state, phase, reset }: SyncView): SyncProgress['info'] {
  // No more work is done on it.
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

/** The stage of applying changes. A reversal's changes follow no copy. */
function ceaStageOf(record: SyncView, { changeStage }: SyncMonitor): SyncProgress['ceaStage'] {
  const isApplying = record.phase === 'changes' && infoText(record) === infoOf.changes;
  return isApplying ? changeStage : null;
}

/** What was compared with the documents that the destination already had. */
function reconciliationOf(
  { repairs, options }: SyncView,
  { comparedDocuments, changedDocuments }: SyncMonitor,
): SyncProgress['reconciliation'] {
  if (repairs === 0 && options.initialData !== 'Present') return null;
  return { comparedDocuments, changedDocuments };
}

/** Warnings about the current state, shown as long as it lasts; warnings about events are kept in the record. */
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
  const unverified = record.options.verification?.enabled === true ? notVerifiedText : undefined;
  return [resetError(record)?.message, blockedText(record), oplog, unreadable, unverified].filter(
    (warning) => warning !== undefined,
  );
}

function sentText({ command, sentMs }: SentCommand, { destination }: SyncView): string {
  return sentWarning(command, performance.now() - sentMs, destination.name);
}

/** A committed sync no longer needs an oplog, except for a reversal. */
function needsOplog({ state, options }: SyncView): boolean {
  return state !== 'COMMITTED' || options.reversible;
}
