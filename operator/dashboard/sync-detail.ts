import { errorNameIn } from '../../sync-api/answer-error.ts';
import { detailFigures } from '../../sync-api/sync-figures.ts';
import {
  combineCollections,
  readCollections,
  readProgress,
  type CombinedCollections,
  type ReportedProgress,
} from '../../sync-api/syncer-answers.ts';
import { readMismatch, readMismatches, readVerification } from '../../sync-api/verifier-answers.ts';
import {
  instanceFigures,
  mismatchView,
  verificationFigures,
} from '../../dashboard/api/reported-views.ts';
import type {
  CollectionsView,
  EventsView,
  InstanceView,
  MismatchView,
  SyncDetail,
  VerificationView,
} from '../../dashboard/api/sync-view.ts';
import type { ClusterSync, InstanceStatus } from '../api/clustersync.ts';
import type { SyncVerification } from '../api/sync-verification.ts';
import { findCondition } from '../kube/conditions.ts';
import { verificationSummaryOf } from './sync-summary.ts';

/** What is known about a sync apart from its resources. */
export interface AskedFacts {
  readonly collections: CollectionsView | null;
  /** By the name of the SyncVerification. */
  readonly mismatches: ReadonlyMap<string, readonly MismatchView[]>;
  readonly events: EventsView;
}

/** The content of the page of one sync. */
export function detailOf(
  { status }: ClusterSync,
  verifications: readonly SyncVerification[],
  { collections, mismatches, events }: AskedFacts,
): SyncDetail {
  const progresses = (status?.instances ?? []).map(({ progress }) => readProgress(progress));
  return {
    instances: (status?.instances ?? []).map((instance, index) =>
      instanceOf(instance, progresses[index], status?.coordinatorID),
    ),
    collections,
    verifications: verifications.map((verification) =>
      verificationOf(verification, mismatches.get(verification.metadata.name)),
    ),
    conditions: (status?.conditions ?? []).map(
      ({ type, status: value, reason, message, lastTransitionTime }) => {
        return { type, status: value, reason, message, since: lastTransitionTime };
      },
    ),
    findings: (status?.preflight ?? []).map(({ severity, name, message, action }) => {
      return { severity, name, message, action: action ?? null };
    }),
    events,
    ...detailFigures(progresses),
  };
}

/**
 * Merges the collections that several instances copy parts of: GET /api/v1/collections of each.
 * @param instanceCount - how many were asked.
 */
export function collectionsOf(
  answers: readonly unknown[],
  instanceCount: number,
): CombinedCollections | null {
  const lists = answers.flatMap((answer) => readCollections(answer) ?? []);
  return lists.length === 0 ? null : combineCollections(lists, instanceCount);
}

/** The differences in an answer of GET /api/v1/mismatches, without document contents. */
export function mismatchesOf(answer: unknown): readonly MismatchView[] {
  return (readMismatches(answer)?.mismatches ?? []).map((mismatch) =>
    mismatchView(readMismatch(mismatch)),
  );
}

function instanceOf(
  { id, pod, ready, error }: InstanceStatus,
  read: ReportedProgress | undefined,
  coordinatorID: string | undefined,
): InstanceView {
  return {
    id,
    pod: pod ?? null,
    isReady: ready === true,
    isCoordinator: coordinatorID !== undefined && coordinatorID === id,
    ...instanceFigures(read),
    error: error ?? null,
  };
}

function verificationOf(
  verification: SyncVerification,
  list: readonly MismatchView[] | undefined,
): VerificationView {
  const { status } = verification;
  return {
    ...verificationSummaryOf(verification),
    ...problemOf(status),
    ...verificationFigures(readVerification(status?.verifier?.progress)),
    kinds: (status?.mismatches?.byKind ?? []).map(({ kind, count }) => ({ name: kind, count })),
    namespaces: (status?.mismatches?.namespaces ?? []).map(({ namespace, count }) => {
      return { name: namespace, count };
    }),
    list: list ?? null,
    reportCommand: status?.report?.command ?? null,
  };
}

/** A verification that cannot continue, or has ended without a verdict, says why only in its conditions. */
function problemOf(status: SyncVerification['status']): Pick<VerificationView, 'error' | 'reason'> {
  const stalled = findCondition(status?.conditions, 'Stalled');
  if (stalled?.status === 'True') return { error: stalled.message, reason: stalled.reason };
  const error = status?.verifier?.error ?? null;
  return { error, reason: errorNameIn(error) };
}
