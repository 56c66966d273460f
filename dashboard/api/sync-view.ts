import type { DetailFigures, SummaryFigures } from '../../sync-api/sync-figures.ts';

/** The summary of a sync: a row of the page. Unknown values are null. */
export interface SyncSummary extends SummaryFigures {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  /** Who carries it out, and so how to commit it: an operator, or `clustersync run`. */
  readonly carriedOutBy: 'operator' | 'run';
  /** As in `kubectl get clustersyncs`. */
  readonly phase: string;
  /** Display names of the two deployments, in the direction of the sync. */
  readonly source: string;
  readonly destination: string;
  readonly isReversed: boolean;
  readonly readiness: Readiness;
  readonly percent: number | null;
  readonly commitReadiness: CommitReadiness;
  /** `2/3`: ready instances, of how many. */
  readonly readyInstances: string | null;
  /** ISO times. */
  readonly createdAt: string | null;
  readonly startedAt: string | null;
  readonly copiedAt: string | null;
  readonly committedAt: string | null;
  readonly verifications: readonly VerificationSummary[];
}

/** Whether a sync is as wanted, on its way there, held up by what should pass, or by what does not pass until somebody acts. */
export interface Readiness {
  readonly kind: 'ready' | 'working' | 'warning' | 'stalled';
  readonly reason: string;
  readonly message: string;
}

/**
 * Whether a commit is advisable now: every instance can commit, the lag is small, and a verification has compared everything and
 * knows of no difference.
 */
export interface CommitReadiness {
  readonly isReady: boolean;
  /** What proves it, or what is missing. */
  readonly message: string;
}

/** The summary of a verification. */
export interface VerificationSummary {
  readonly name: string;
  readonly phase: string;
  readonly verdict: 'equal' | 'different' | null;
  readonly mismatches: number | null;
  /** Whether it compares only what a filter of its own selects: it proves nothing about the rest. */
  readonly isPart: boolean;
  /** Whether it cannot continue until somebody acts. */
  readonly isStalled: boolean;
}

/** A summary with values derived from earlier summaries. */
export interface SyncRow extends SyncSummary {
  readonly bytesPerSecond: number | null;
  readonly eventsPerSecond: number | null;
}

/** Everything the page shows of one sync, except its summary and its history. */
export interface SyncDetail extends DetailFigures {
  readonly instances: readonly InstanceView[];
  readonly collections: CollectionsView | null;
  readonly verifications: readonly VerificationView[];
  readonly conditions: readonly ConditionView[];
  /** What the check before the start has found, the most important first. */
  readonly findings: readonly FindingView[];
  /** Null if nothing stores them. */
  readonly events: EventsView | null;
}

/** Events of Kubernetes about a sync. */
export interface EventsView {
  /** Newest first. */
  readonly shown: readonly EventView[];
  /** True if there are more. */
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
  /** Otherwise there are at least so many, and at least so many are copied. */
  readonly isExact: boolean;
  /** How many instances do not answer, or list none yet. */
  readonly unknownInstances: number;
  readonly collections: readonly CollectionView[];
}

export interface CollectionView {
  readonly namespace: string;
  readonly totalBytes: number;
  readonly copiedBytes: number;
  readonly isCopied: boolean;
}

/** A verification with its results. Contains no values of documents, and no `_id`s. */
export interface VerificationView extends VerificationSummary {
  /** What keeps it from its verdict. */
  readonly error: string | null;
  /** The reason of that, or the name of the error; null if it has none. */
  readonly reason: string | null;
  /** Number of the pass; 0 is the first. */
  readonly generation: number | null;
  readonly documentsCompared: number | null;
  /** How many documents of each side were compared only by hash; null until that is known. */
  readonly documentsHashed: number | null;
  /** Of the current pass. */
  readonly documentsDone: number | null;
  readonly documentsTotal: number | null;
  readonly kinds: readonly MismatchCount[];
  readonly namespaces: readonly MismatchCount[];
  /** The first of them; null if the verifier cannot be asked. */
  readonly list: readonly MismatchView[] | null;
  /** The command that prints the whole report. */
  readonly reportCommand: string | null;
}

/** The number of differences of a kind, or in a namespace. */
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

/** What a check before the start has found. */
export interface FindingView {
  /** Blocker, Warning or Advice. */
  readonly severity: string;
  readonly name: string;
  readonly message: string;
  /** What to do. */
  readonly action: string | null;
}

/** An event about a sync or its verification. */
export interface EventView {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly about: string;
  /** How often it was seen, and when last. */
  readonly count: number;
  readonly at: string;
}
