import type { DetailFigures, SummaryFigures } from '../../sync-api/sync-figures.ts';

/** A sync at a glance: what a row of the page shows. Null is what is not known. */
export interface SyncSummary extends SummaryFigures {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  /** Who carries it out, and so who is to be told to commit: an operator, or `clustersync run`. */
  readonly carriedOutBy: 'operator' | 'run';
  /** As in `kubectl get clustersyncs`. */
  readonly phase: string;
  /** What people call the two deployments, from where to where. */
  readonly source: string;
  readonly destination: string;
  readonly isReversed: boolean;
  readonly readiness: Readiness;
  readonly percent: number | null;
  readonly canCommit: boolean;
  /** `2/3`: instances that have a pod that is ready, of how many. */
  readonly readyInstances: string | null;
  /** ISO times. */
  readonly createdAt: string | null;
  readonly startedAt: string | null;
  readonly copiedAt: string | null;
  readonly committedAt: string | null;
  readonly verifications: readonly VerificationSummary[];
}

/** Whether a sync is what it is to be, on its way there, or needs somebody. */
export interface Readiness {
  readonly kind: 'ready' | 'working' | 'stalled';
  readonly reason: string;
  readonly message: string;
}

/** A verification at a glance. */
export interface VerificationSummary {
  readonly name: string;
  readonly phase: string;
  readonly verdict: 'equal' | 'different' | null;
  readonly mismatches: number | null;
}

/** A summary with what follows from the summaries before it. */
export interface SyncRow extends SyncSummary {
  readonly bytesPerSecond: number | null;
  readonly eventsPerSecond: number | null;
}

/** Everything the page shows of one sync, but for its summary and its history. */
export interface SyncDetail extends DetailFigures {
  readonly instances: readonly InstanceView[];
  readonly collections: CollectionsView | null;
  readonly verifications: readonly VerificationView[];
  readonly conditions: readonly ConditionView[];
  /** Null where nobody keeps them. */
  readonly events: EventsView | null;
}

/** Events of Kubernetes about a sync. */
export interface EventsView {
  /** Newest first. */
  readonly shown: readonly EventView[];
  /** True where there are others. */
  readonly hasMore: boolean;
}

/** One process of a sync. */
export interface InstanceView {
  readonly id: string;
  readonly pod: string | null;
  readonly isReady: boolean;
  readonly isCoordinator: boolean;
  readonly state: string | null;
  readonly info: string | null;
  readonly copiedBytes: number | null;
  readonly lagSeconds: number | null;
  readonly eventsApplied: number | null;
  readonly error: string | null;
}

/** The collections that are copied: the first of them, and how many there are. */
export interface CollectionsView {
  readonly total: number;
  readonly copied: number;
  readonly collections: readonly CollectionView[];
}

export interface CollectionView {
  readonly namespace: string;
  readonly totalBytes: number;
  readonly copiedBytes: number;
  readonly isCopied: boolean;
}

/** A verification with what it has found. No values of documents are part of it, and no `_id`s. */
export interface VerificationView extends VerificationSummary {
  readonly error: string | null;
  /** Number of the pass; 0 is the first. */
  readonly generation: number | null;
  readonly documentsCompared: number | null;
  /** Of the current pass. */
  readonly documentsDone: number | null;
  readonly documentsTotal: number | null;
  readonly kinds: readonly MismatchCount[];
  readonly namespaces: readonly MismatchCount[];
  /** The first of them; null where the verifier cannot be asked. */
  readonly list: readonly MismatchView[] | null;
  /** Prints the whole report. */
  readonly reportCommand: string | null;
}

/** How many differences there are of a kind, or in a namespace. */
export interface MismatchCount {
  readonly name: string;
  readonly count: number;
}

/** A difference. */
export interface MismatchView {
  readonly namespace: string;
  readonly kind: string;
  readonly index: string | null;
  readonly field: string | null;
  readonly detail: string | null;
}

/** A condition of the resource. */
export interface ConditionView {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string;
}

/** An event about a sync or its verification. */
export interface EventView {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly about: string;
  /** How often it was seen, and when the last time. */
  readonly count: number;
  readonly at: string;
}
