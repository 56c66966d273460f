import {
  condition,
  notReady,
  of,
  operator,
  otherOperator,
  shop,
  syncer,
  times,
  type AlertCase,
} from './alert-series.ts';
import type { Series } from './promql.ts';
import { verificationAlertCases } from './verification-alert-cases.ts';

function leader(target: typeof operator, values: Series['values'], name = 'clustersync'): Series {
  return of(target, 'leader_election_master_status', { name }, values);
}

function watched(namespace: string, values: Series['values']): Series {
  return of({ ...operator, namespace }, 'clustersync_operator_namespace_watched', {}, values);
}

function owned(namespace: string, values: Series['values'], target = operator): Series {
  return of({ ...target, namespace }, 'clustersync_operator_namespace_owned', {}, values);
}

function reconcileErrors(values: Series['values'], controller = 'clustersync'): Series {
  const labels = { controller };
  return of(operator, 'controller_runtime_reconcile_errors_total', labels, values);
}

function oplog(windowSeconds: number, lagSeconds: number | null, target = syncer): Series[] {
  return [
    of(target, 'clustersync_syncer_oplog_window_seconds', {}, times(20, windowSeconds)),
    of(target, 'clustersync_syncer_lag_seconds', {}, times(20, lagSeconds)),
  ];
}

function oplogRemaining(seconds: number | null): Series {
  return of(syncer, 'clustersync_syncer_oplog_remaining_seconds', {}, times(20, seconds));
}

const other = { ...syncer, pod: 'orders-syncer-1' };

/** A copy for an hour, with what a syncer says of it. @param lastMinute - in which something was copied or compared. */
function copying({
  target = syncer,
  lastMinute = 5,
  comparedUntil = 0,
  phase = 'copy',
} = {}): Series[] {
  const until = (last: number) => Array.from({ length: 60 }, (_, minute) => Math.min(minute, last));
  return [
    of(target, 'clustersync_syncer_estimated_copied_bytes', {}, until(lastMinute)),
    of(target, 'clustersync_syncer_compared_documents_total', {}, until(comparedUntil)),
    of(target, 'clustersync_syncer_phase', { phase: 'copy' }, times(60, phase === 'copy' ? 1 : 0)),
    of(target, 'clustersync_syncer_phase', { phase: 'catalog' }, times(60, 0)),
  ];
}

function heldBack(reason: string, values: Series['values']): Series {
  return of(syncer, 'clustersync_syncer_held_back', { reason }, values);
}

function committing(values: Series['values']): Series {
  return of(syncer, 'clustersync_syncer_state', { state: 'COMMITTING' }, values);
}

/** When each alert fires, and when it does not. */
export const alertCases: readonly AlertCase[] = [
  {
    alert: 'ClustersyncOperatorDown',
    what: 'nobody is there',
    series: [leader(operator, [1, 1, ...times(10, null)])],
    firesAtMinute: 7,
  },
  {
    alert: 'ClustersyncOperatorDown',
    what: 'nobody leads',
    series: [leader(operator, [1, 1, ...times(10, 0)]), leader(otherOperator, times(12, 0))],
    firesAtMinute: 7,
  },
  {
    alert: 'ClustersyncOperatorDown',
    what: 'another one leads from now on',
    series: [
      leader(operator, [1, 1, ...times(18, null)]),
      leader(otherOperator, [0, 0, 0, 0, ...times(16, 1)]),
    ],
  },
  {
    alert: 'ClustersyncOperatorDown',
    what: 'that of another release leads',
    series: [leader({ ...operator, namespace: 'elsewhere' }, times(12, 1))],
    firesAtMinute: 5,
  },
  {
    alert: 'ClustersyncOperatorDown',
    what: 'another operator leads in the namespace',
    series: [leader(operator, times(12, 1), 'other')],
    firesAtMinute: 5,
  },
  {
    alert: 'ClustersyncReconcileErrors',
    what: 'reconciles fail again and again',
    series: [reconcileErrors(Array.from({ length: 25 }, (_, minute) => minute))],
    firesAtMinute: 16,
  },
  {
    alert: 'ClustersyncReconcileErrors',
    what: 'reconciles of verifications fail again and again',
    series: [
      reconcileErrors(
        Array.from({ length: 25 }, (_, minute) => minute),
        'syncverification',
      ),
    ],
    firesAtMinute: 16,
  },
  {
    alert: 'ClustersyncReconcileErrors',
    what: 'some have failed',
    series: [reconcileErrors([0, 1, 2, 3, ...times(26, 3)])],
  },
  {
    alert: 'ClustersyncNamespaceNotWatched',
    what: 'a namespace is refused',
    series: [watched('shop', [1, 1, ...times(20, 0)]), watched('other', times(22, 1))],
    firesAtMinute: 17,
  },
  {
    alert: 'ClustersyncNamespaceNotWatched',
    what: 'a namespace is refused for a while',
    series: [watched('shop', [1, ...times(14, 0), ...times(10, 1)])],
  },
  {
    alert: 'ClustersyncNamespaceNotOwned',
    what: 'another operator works in a namespace',
    series: [
      owned('shop', times(25, 1)),
      owned('shop', [1, ...times(20, 0)], { ...operator, pod: 'other-operator' }),
      owned('other', times(25, 1)),
    ],
    firesAtMinute: 16,
  },
  {
    alert: 'ClustersyncNamespaceNotOwned',
    what: 'a namespace is taken over',
    series: [owned('shop', [...times(14, 0), ...times(20, 1)])],
  },
  {
    alert: 'ClustersyncStalled',
    what: 'a sync is stalled',
    series: [
      condition('Stalled', [...times(3, null), ...times(10, 1)]),
      notReady('OplogRolledOver', [...times(3, null), ...times(10, 1)]),
    ],
    firesAtMinute: 4,
    reason: 'OplogRolledOver',
  },
  {
    alert: 'ClustersyncStalled',
    what: 'a sync is not',
    series: [condition('Stalled', times(10, 0)), condition('Reconciling', times(10, 1))],
  },
  {
    alert: 'ClustersyncNotReady',
    what: 'a sync whose copy is done is not ready, no matter which operator leads',
    series: [
      condition('InitialCopyDone', [...times(8, 1), ...times(20, null)]),
      condition('Ready', [...times(8, 0), ...times(20, null)]),
      condition('InitialCopyDone', [...times(8, null), ...times(20, 1)], { target: otherOperator }),
      condition('Ready', [...times(8, null), ...times(20, 0)], { target: otherOperator }),
      notReady('WaitingForCanCommit', [...times(8, 1), ...times(20, null)]),
      notReady('SyncerUnreachable', [...times(8, null), ...times(20, 1)], otherOperator),
    ],
    firesAtMinute: 15,
    reason: 'SyncerUnreachable',
  },
  {
    alert: 'ClustersyncNotReady',
    what: 'the initial copy is running',
    series: [condition('InitialCopyDone', times(30, 0)), condition('Ready', times(30, 0))],
  },
  {
    alert: 'ClustersyncNotReady',
    what: 'it is stalled, of which another alert tells',
    series: [
      condition('InitialCopyDone', times(30, 1)),
      condition('Ready', times(30, 0)),
      condition('Stalled', times(30, 1)),
    ],
  },
  {
    alert: 'ClustersyncCopyBlocked',
    what: 'its pod cannot be scheduled, then does not answer, no matter which operator leads',
    series: [
      notReady('InitialCopy', [1, 1, ...times(28, null)]),
      notReady('PodUnschedulable', [null, null, ...times(6, 1), ...times(22, null)]),
      notReady('SyncerUnreachable', [...times(8, null), ...times(22, 1)], otherOperator),
      condition('InitialCopyDone', times(30, 0)),
    ],
    firesAtMinute: 17,
    reason: 'SyncerUnreachable',
  },
  {
    alert: 'ClustersyncCopyBlocked',
    what: 'the destination is in use before anything has begun',
    series: [notReady('DestinationInUse', times(30, 1))],
    firesAtMinute: 15,
    reason: 'DestinationInUse',
  },
  {
    alert: 'ClustersyncCopyBlocked',
    what: 'the sync of a deleted ClusterSync is being ended, and a deployment does not answer',
    series: [
      notReady('Resetting', [...times(5, 1), ...times(25, null)]),
      notReady('ClusterUnreachable', [...times(5, null), ...times(25, 1)]),
      condition('InitialCopyDone', times(30, 0)),
    ],
    firesAtMinute: 20,
    reason: 'ClusterUnreachable',
    says: /kept from copying, or from ending its sync,.* deleted, or starts over/,
  },
  ...[
    ...['InitialCopy', 'Starting', 'Checking', 'Suspended', 'Paused', 'Pausing', 'Resuming'],
    ...['StartingOver', 'Resetting', 'Repairing', 'RepairWaiting'],
  ].map((reason) => ({
    alert: 'ClustersyncCopyBlocked',
    what: `it is not ready because of ${reason}`,
    series: [notReady(reason, times(30, 1)), condition('InitialCopyDone', times(30, 0))],
  })),
  ...['InitialCopyDone', 'Stalled', 'Suspended'].map((type) => ({
    alert: 'ClustersyncCopyBlocked',
    what: `its condition ${type} is True, so that it is not about a copy, or others tell of it`,
    series: [notReady('ClusterUnreachable', times(30, 1)), condition(type, times(30, 1))],
  })),
  {
    alert: 'ClustersyncCopyStuck',
    what: 'nothing more is copied, no matter which operator leads',
    series: [
      ...copying(),
      notReady('InitialCopy', [...times(20, 1), ...times(40, null)]),
      notReady('InitialCopy', [...times(20, null), ...times(40, 1)], otherOperator),
      heldBack('maxCopyBytesPerSecond', times(60, 0)),
    ],
    firesAtMinute: 44,
  },
  {
    alert: 'ClustersyncCopyStuck',
    what: 'nothing is copied at all, and another instance has copied its part',
    series: [
      ...copying({ lastMinute: 0 }),
      ...copying({ lastMinute: 0, target: other }),
      notReady('InitialCopy', times(60, 1)),
    ],
    firesAtMinute: 30,
  },
  ...[
    ...[{ what: 'another instance copies', series: copying({ lastMinute: 60, target: other }) }],
    ...[{ what: 'a limit held it back', series: [heldBack('minFreeDiskPercent', times(60, 1))] }],
    {
      what: 'indexes are being built',
      series: [of(syncer, 'clustersync_syncer_indexes_to_build', {}, times(60, 7))],
    },
  ].map(({ what, series }) => ({
    alert: 'ClustersyncCopyStuck',
    what,
    series: [...copying(), ...series, notReady('InitialCopy', times(60, 1))],
  })),
  ...[
    { what: 'it compares what is there', series: copying({ comparedUntil: 60 }) },
    { what: 'it still reads the catalog', series: copying({ phase: 'catalog' }) },
    { what: 'it copies', series: copying({ lastMinute: 60 }) },
  ].map(({ what, series }) => ({
    alert: 'ClustersyncCopyStuck',
    what,
    series: [...series, notReady('InitialCopy', times(60, 1))],
  })),
  {
    alert: 'ClustersyncCopyStuck',
    what: 'it is about to be paused',
    series: [...copying(), notReady('Pausing', times(60, 1))],
  },
  {
    alert: 'ClustersyncCommitHangs',
    what: 'a commit is not done, whatever is unknown or does not answer, no matter which operator leads',
    series: [
      notReady('Committing', [null, ...times(9, 1), ...times(40, null)]),
      notReady('SyncerUnreachable', [...times(10, null), ...times(10, 1), ...times(30, null)]),
      notReady('CommitUnknown', [...times(20, null), ...times(30, 1)], otherOperator),
      committing([...times(5, 0), ...times(20, 1), ...times(25, null)]),
    ],
    firesAtMinute: 31,
    reason: 'CommitUnknown',
  },
  {
    alert: 'ClustersyncCommitHangs',
    what: 'it takes a while',
    series: [notReady('Committing', [...times(29, 1), ...times(20, null)])],
  },
  {
    alert: 'ClustersyncCommitHangs',
    what: 'it has stopped, of which another alert tells',
    series: [
      notReady('UniqueIndexViolation', times(50, 1)),
      ...[committing(times(50, 1)), condition('Stalled', times(50, 1))],
    ],
  },
  {
    alert: 'ClustersyncCommitHangs',
    what: 'none has been sent yet',
    series: [notReady('WaitingForCanCommit', times(50, 1)), committing(times(50, 0))],
  },
  {
    alert: 'ClustersyncSecretProblem',
    what: 'a Secret is missing, or a certificate expires',
    series: [condition('SecretProblem', times(30, 1)), condition('Ready', times(30, 1))],
    firesAtMinute: 15,
  },
  {
    alert: 'ClustersyncSecretProblem',
    what: 'it is corrected',
    series: [condition('SecretProblem', [...times(14, 1), ...times(20, null)])],
  },
  {
    alert: 'ClustersyncLagHigh',
    what: 'a sync lags behind, no matter which operator leads',
    series: [
      of(operator, 'clustersync_lag_seconds', shop, [10, ...times(7, 400), ...times(20, null)]),
      of(otherOperator, 'clustersync_lag_seconds', shop, [...times(8, null), ...times(20, 301)]),
    ],
    firesAtMinute: 16,
  },
  {
    alert: 'ClustersyncLagHigh',
    what: 'a sync catches up in time',
    series: [of(operator, 'clustersync_lag_seconds', shop, [...times(14, 400), ...times(14, 20)])],
  },
  {
    alert: 'ClustersyncOplogWindowShort',
    what: 'the oplog of one instance is shorter than twice its lag',
    series: [...oplog(7_000, 3_600), ...oplog(90_000, 10, { ...syncer, pod: 'orders-syncer-1' })],
    firesAtMinute: 5,
  },
  {
    alert: 'ClustersyncOplogWindowShort',
    what: 'the oplog is longer',
    series: oplog(7_300, 3_600),
  },
  {
    alert: 'ClustersyncOplogWindowShort',
    what: 'the lag is unknown',
    series: oplog(1, null),
  },
  {
    alert: 'ClustersyncOplogRunningOut',
    what: 'the oplog lasts for half an hour',
    series: [oplogRemaining(1_800)],
    firesAtMinute: 5,
  },
  {
    alert: 'ClustersyncOplogRunningOut',
    what: 'it lasts for a day',
    series: [oplogRemaining(86_400)],
  },
  {
    alert: 'ClustersyncOplogRunningOut',
    what: 'that is not known',
    series: [oplogRemaining(null)],
  },
  ...verificationAlertCases,
];
