import { summaryFigures, type SummaryFigures } from '../../sync-api/sync-figures.ts';
import { readProgress } from '../../sync-api/syncer-answers.ts';
import type {
  CommitReadiness,
  Readiness,
  SyncSummary,
  VerificationSummary,
} from '../../dashboard/api/sync-view.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import type { SyncVerification } from '../api/sync-verification.ts';
import { warningReasons } from '../clustersync/events.ts';
import { findCondition, isConditionTrue } from '../kube/conditions.ts';
import { objectKey } from '../kube/resource.ts';
import { warningOf } from '../operand/warnings.ts';

/** The row of a ClusterSync on the dashboard. */
export function summaryOf(
  sync: ClusterSync,
  verifications: readonly SyncVerification[],
): SyncSummary {
  const { metadata, spec, status } = sync;
  const isReversed = (status?.direction ?? spec.direction) === 'Reverse';
  const names = [spec.source.name, spec.destination.name];
  const [source = '', destination = ''] = isReversed ? names.reverse() : names;
  const copyDone = findCondition(status?.conditions, 'InitialCopyDone');
  return {
    key: objectKey(metadata),
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    carriedOutBy: 'operator',
    phase: status?.phase ?? 'Pending',
    source,
    destination,
    isReversed,
    readiness: readinessOf(sync),
    percent: status?.totals?.percent ?? null,
    ...figuresOf(status),
    commitReadiness: commitReadinessOf(sync),
    readyInstances: status?.readyInstances ?? null,
    createdAt: metadata.creationTimestamp ?? null,
    startedAt: status?.startedAt ?? null,
    copiedAt: copyDone?.status === 'True' ? copyDone.lastTransitionTime : null,
    committedAt: status?.committedAt ?? null,
    verifications: verifications.map(verificationSummaryOf),
  };
}

/**
 * The status has no lag while documents are copied: then there is nothing yet that could be ready for a commit. But the oplog has to hold
 * what is to be read after the copy, so here it counts. If one instance does not answer, its figures are old, and may be the worst.
 */
function figuresOf(status: ClusterSync['status']): SummaryFigures {
  const instances = status?.instances ?? [];
  const figures = summaryFigures(instances.map(({ progress }) => readProgress(progress)));
  const areFresh = instances.every(({ error }) => error === undefined);
  const isCopying = status?.phase === 'InitialCopy' && areFresh;
  return {
    ...figures,
    lagSeconds: status?.lagTimeSeconds ?? (isCopying ? figures.lagSeconds : null),
    oplogSeconds: areFresh ? figures.oplogSeconds : null,
  };
}

/** The row of a SyncVerification. */
export function verificationSummaryOf({
  metadata,
  spec,
  status,
}: SyncVerification): VerificationSummary {
  return {
    name: metadata.name,
    phase: status?.phase ?? 'Pending',
    verdict: verdictOf(status),
    mismatches: status?.mismatches?.total ?? null,
    isPart: spec.filter !== undefined,
    isStalled: isConditionTrue(status?.conditions, 'Stalled'),
  };
}

/** Null, too, for one about data that the ClusterSync no longer has: of a sync that was replaced, or reversed since. */
function verdictOf(status: SyncVerification['status']): VerificationSummary['verdict'] {
  if (findCondition(status?.conditions, 'Consistent')?.status === 'Unknown') return null;
  switch (status?.verdict) {
    case 'Equal':
      return 'equal';
    case 'Different':
      return 'different';
    case undefined:
      return null;
  }
}

function commitReadinessOf({ status }: ClusterSync): CommitReadiness {
  const { status: value, message = '' } = findCondition(status?.conditions, 'ReadyToCommit') ?? {};
  return { isReady: value === 'True', message };
}

function readinessOf({ status }: ClusterSync): Readiness {
  const stalled = findCondition(status?.conditions, 'Stalled');
  const ready = findCondition(status?.conditions, 'Ready');
  const { reason = 'Pending', message = 'the operator has not reconciled it yet' } =
    stalled ?? ready ?? {};
  if (stalled?.status === 'True') return { kind: 'stalled', reason, message };
  if (warningOf(status, warningReasons)) return { kind: 'warning', reason, message };
  return { kind: ready?.status === 'True' ? 'ready' : 'working', reason, message };
}
