import { readProgress } from '../../sync-api/syncer-answers.ts';
import type { Outlook, SyncSummary, VerificationSummary } from '../../dashboard/api/sync-view.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import type { SyncVerification } from '../api/sync-verification.ts';
import { findCondition } from '../kube/conditions.ts';
import { objectKey } from '../kube/resource.ts';

/** What a row of the dashboard shows of a ClusterSync. */
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
    outlook: outlookOf(sync),
    percent: status?.totals?.percent ?? null,
    totalBytes: status?.totals?.estimatedTotalBytes ?? null,
    copiedBytes: status?.totals?.estimatedCopiedBytes ?? null,
    lagSeconds: status?.lagTimeSeconds ?? null,
    eventsApplied: eventsAppliedBy(sync),
    canCommit: status?.canCommit === true,
    readyInstances: status?.readyInstances ?? null,
    createdAt: metadata.creationTimestamp ?? null,
    startedAt: status?.startedAt ?? null,
    copiedAt: copyDone?.status === 'True' ? copyDone.lastTransitionTime : null,
    committedAt: status?.committedAt ?? null,
    verifications: verifications.map(verificationSummaryOf),
  };
}

/** What a row shows of a SyncVerification. */
export function verificationSummaryOf({ metadata, status }: SyncVerification): VerificationSummary {
  return {
    name: metadata.name,
    phase: status?.phase ?? 'Pending',
    verdict: verdictOf(status),
    mismatches: status?.mismatches?.total ?? null,
  };
}

function verdictOf(status: SyncVerification['status']): VerificationSummary['verdict'] {
  switch (status?.verdict) {
    case 'Equal':
      return 'equal';
    case 'Different':
      return 'different';
    case undefined:
      return null;
  }
}

function outlookOf({ status }: ClusterSync): Outlook {
  const stalled = findCondition(status?.conditions, 'Stalled');
  const ready = findCondition(status?.conditions, 'Ready');
  const { reason = 'Pending', message = 'the operator has not seen it yet' } =
    stalled ?? ready ?? {};
  if (stalled?.status === 'True') return { kind: 'stalled', reason, message };
  return { kind: ready?.status === 'True' ? 'ready' : 'working', reason, message };
}

/** By all instances together; null where one does not say. */
function eventsAppliedBy({ status }: ClusterSync): number | null {
  const counts = (status?.instances ?? []).map(
    ({ progress }) => readProgress(progress)?.totalEventsApplied ?? null,
  );
  return counts.length === 0
    ? null
    : counts.reduce((sum, count) => (sum === null || count === null ? null : sum + count));
}
