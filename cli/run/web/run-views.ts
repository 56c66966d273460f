import {
  instanceFigures,
  mismatchView,
  verificationFigures,
} from '../../../dashboard/api/reported-views.ts';
import type {
  CollectionsView,
  CommitReadiness,
  InstanceView,
  Readiness,
  SyncDetail,
  SyncSummary,
  VerificationSummary,
  VerificationView,
} from '../../../dashboard/api/sync-view.ts';
import { errorNameIn } from '../../../sync-api/answer-error.ts';
import { detailFigures, percentOfCopy, summaryFigures } from '../../../sync-api/sync-figures.ts';
import { copyInfo, type ReportedProgress } from '../../../sync-api/syncer-answers.ts';
import type { SyncProgress } from '../../api/combine.ts';
import type { VerificationProgress } from '../../api/verifier-api.ts';
import type { View } from '../../render/frame.ts';
import { verificationName } from '../programs.ts';
import { reportCommand } from '../summary.ts';

/** What does not change during a migration. */
export interface RunFacts {
  /** The display names of the two deployments. */
  readonly source: string;
  readonly destination: string;
  /** What triggers the commit when the destination has caught up. */
  readonly commit: 'asks' | 'by itself' | 'never';
  readonly isVerified: boolean;
}

/** A migration at a moment. */
export interface RunState extends RunFacts {
  /** ISO times; null if this command has not seen the event. */
  readonly beganAt: string;
  readonly copiedAt: string | null;
  readonly committedAt: string | null;
  /** Undefined until the syncers have answered. */
  readonly view: View | undefined;
  /** Why the command ends before the migration does. */
  readonly end: RunEnd | undefined;
}

export type RunEnd =
  | { readonly kind: 'stopped'; readonly message: string }
  | { readonly kind: 'failed'; readonly name: string; readonly message: string };

/** The one sync that the page of a run shows: it has no name. */
export const runKey = { namespace: 'run', name: 'migration', key: 'run/migration' } as const;

/** The page's summary of a migration. */
export function runSummary(state: RunState): SyncSummary {
  const { source, destination, beganAt, copiedAt, committedAt, view, end } = state;
  const sync = view?.sync;
  const { totalBytes, copiedBytes, lagSeconds, eventsApplied, oplogSeconds } =
    sync ?? summaryFigures([]);
  const startedAt = sync?.startedAt ?? null;
  const isNew = startedAt === null || startedAt >= beganAt;
  return {
    ...{ ...runKey, carriedOutBy: 'run', source, destination, isReversed: false },
    phase: phaseOf(state),
    readiness: readinessOf(state),
    percent: sync ? percentOf(sync) : null,
    ...{ totalBytes, copiedBytes, eventsApplied },
    // What grows with time is not what it was when the command ended.
    lagSeconds: end ? null : lagSeconds,
    oplogSeconds: end ? null : oplogSeconds,
    commitReadiness: commitReadinessOf(state),
    readyInstances: null,
    // If an earlier command started it, the sync has not waited for this one.
    createdAt: isNew ? beganAt : null,
    ...{ startedAt, copiedAt, committedAt },
    verifications: view?.verification ? [verificationSummary(view.verification)] : [],
  };
}

/** Everything the page shows about a migration. Without Kubernetes there are no conditions and no events. */
export function runDetail(
  { view, end }: RunState,
  collections: CollectionsView | null,
): SyncDetail {
  const sync = view?.sync;
  const { catchUpSeconds, indexes, reconciliation, heldBack, warnings } = sync ?? detailFigures([]);
  const isReady = view !== undefined && view.warning === undefined && end === undefined;
  return {
    instances: (sync?.instances ?? []).map((instance) =>
      instanceView(instance, sync?.coordinatorId ?? null, isReady),
    ),
    collections,
    verifications: view?.verification ? [verificationView(view.verification)] : [],
    conditions: [],
    findings: [],
    events: null,
    ...{ catchUpSeconds, indexes, reconciliation, heldBack, warnings },
  };
}

/** Whether all documents are copied. */
export function isCopied({ canCommit, info, state }: SyncProgress): boolean {
  return (
    canCommit ||
    state === 'COMMITTING' ||
    state === 'COMMITTED' ||
    (info !== null && info !== copyInfo)
  );
}

function phaseOf({ view, end }: RunState): string {
  if (end?.kind === 'failed') return 'Stalled';
  switch (view?.sync.state) {
    case 'PAUSED':
      return 'Paused';
    case 'RUNNING':
      if (end) return 'Paused';
      return isCopied(view.sync) ? 'ChangeApplication' : 'InitialCopy';
    case 'COMMITTING':
      return 'Committing';
    case 'COMMITTED':
      return 'Committed';
    case undefined:
    default:
      return 'Starting';
  }
}

function commitReadinessOf({ view, end }: RunState): CommitReadiness {
  // What has ended it is shown beside it.
  const message = end ? 'the sync is not running' : view?.warning;
  if (message !== undefined) return { isReady: false, message };
  return view?.commitReadiness ?? { isReady: false, message: 'the syncers are starting' };
}

function readinessOf(state: RunState): Readiness {
  const { view, end } = state;
  if (end?.kind === 'failed') return { kind: 'stalled', reason: end.name, message: end.message };
  const phase = phaseOf(state);
  if (end) return { kind: 'working', reason: phase, message: end.message };
  if (view?.warning !== undefined) {
    return { kind: 'working', reason: 'TryingAgain', message: view.warning };
  }
  switch (phase) {
    case 'InitialCopy':
      return { kind: 'working', reason: phase, message: 'the initial copy is running' };
    case 'ChangeApplication': {
      const kind = view?.commitReadiness?.isReady === true ? 'ready' : 'working';
      const message = `changes from the source are being applied; ${commitTexts[state.commit]}`;
      return { kind, reason: kind === 'ready' ? 'InSync' : phase, message };
    }
    case 'Paused':
      return { kind: 'working', reason: phase, message: 'the sync is paused' };
    case 'Committing':
      return { kind: 'working', reason: phase, message: 'the commit is being carried out' };
    case 'Committed':
      return readinessAtEnd(state);
    default:
      return { kind: 'working', reason: phase, message: 'the syncers are starting' };
  }
}

const commitTexts: Readonly<Record<RunFacts['commit'], string>> = {
  asks: 'when the destination has caught up, the command asks in its terminal whether to commit',
  'by itself': 'when the destination has caught up, the command commits without confirmation',
  never:
    'when the destination has caught up, the sync is paused: there is no terminal for the confirmation',
};

function readinessAtEnd({ view, isVerified }: RunState): Readiness {
  const what = 'the sync is committed';
  if (!isVerified) {
    return { kind: 'ready', reason: 'Committed', message: `${what}; nothing is compared` };
  }
  switch (view?.verification?.verdict) {
    case 'equal':
      return { kind: 'ready', reason: 'Equal', message: `${what}, and both sides are equal` };
    case 'different': {
      const message = `${what}, but the two sides differ: do not use the destination until you know why`;
      return { kind: 'stalled', reason: 'Different', message };
    }
    case null:
    case undefined:
      return { kind: 'working', reason: 'Comparing', message: `${what}; the verdict is pending` };
  }
}

/** Null while the total is unknown. */
function percentOf(sync: SyncProgress): number | null {
  if (isCopied(sync)) return 100;
  const { totalBytes, copiedBytes } = sync;
  return totalBytes === null ? null : percentOfCopy(copiedBytes ?? 0, totalBytes);
}

function instanceView(
  instance: ReportedProgress,
  coordinatorId: string | null,
  isReady: boolean,
): InstanceView {
  const { syncerID } = instance;
  return {
    id: syncerID ?? 'syncer',
    pod: null,
    isReady,
    isCoordinator: coordinatorId !== null && coordinatorId === syncerID,
    ...instanceFigures(instance),
    error: null,
  };
}

function verificationSummary(verification: VerificationProgress): VerificationSummary {
  const { verdict, phase, mismatchCount } = verification;
  const hasBegun = verdict !== null || phase !== 'idle';
  return {
    name: verificationName,
    phase: verificationPhase(verification),
    verdict,
    mismatches: hasBegun ? mismatchCount : null,
    ...{ isPart: false, isStalled: false },
  };
}

/** Like that of a SyncVerification. */
function verificationPhase({ verdict, error, phase }: VerificationProgress): string {
  if (verdict !== null) return verdict === 'equal' ? 'Succeeded' : 'Failed';
  if (error !== null) return 'Failed';
  return phase === 'idle' ? 'Pending' : 'Checking';
}

function verificationView(verification: VerificationProgress): VerificationView {
  const { error, reported } = verification;
  return {
    ...verificationSummary(verification),
    error,
    reason: errorNameIn(error),
    ...verificationFigures(reported),
    kinds: reported.mismatchKinds,
    namespaces: reported.mismatchNamespaces,
    list: reported.mismatches.map(mismatchView),
    reportCommand,
  };
}
