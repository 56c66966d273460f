import {
  failedTasks,
  openDifferences,
  taskCount,
  type OpenDifferences,
} from '../../sync-api/open-differences.ts';
import { readVerification, type ReportedVerification } from '../../sync-api/verifier-answers.ts';
import { unreachableGraceMs } from '../operand/observation.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import type { SyncVerification, SyncVerificationStatus } from '../api/sync-verification.ts';
import { findCondition, isConditionTrue } from '../kube/conditions.ts';
import { gravestCause, type ConditionCause } from '../operand/condition-cause.ts';

/** What is demanded of verifications. */
export interface VerificationDemand {
  /**
   * Whether the automatic commit asks: then the proof is that of `spec.commit.verificationRef`, and none is demanded without it; the
   * message says what becomes of the commit. Otherwise any verification of the whole sync may prove it.
   */
  readonly isOfCommit: boolean;
  /**
   * Writes have stopped, so nothing may be left to compare, and nothing may differ. Before that, there always is something to compare; and
   * where documents are written all the time, some always differ: those that the lag explains do not count.
   */
  readonly isQuiet: boolean;
  /** Whether the same is checked again before the commit is sent, once workloads have stopped. */
  readonly isAskedAgain: boolean;
  /** Whether this operator has heard of a verification since it began: a stored status may be of long ago. */
  readonly isHeardOf: (verification: SyncVerification) => boolean;
  /** See `syncStartOf`. */
  readonly syncStartedAt: string | undefined;
  readonly nowMs: number;
}

/** Why a verification does not show that the destination has the data of the source. */
interface Doubt {
  /**
   * none: there is no verification of the whole sync. unfit: it cannot prove anything about the whole sync. differences, different: it
   * has found some; different, failed: it has ended.
   */
  readonly kind: 'none' | 'waiting' | 'stalled' | 'unfit' | 'differences' | 'different' | 'failed';
  readonly fact: string;
}

/** The SyncVerifications that a decision about a ClusterSync depends on: those about it, and the one that its commit waits for. */
export function verificationsFor(
  { metadata, spec }: ClusterSync,
  all: readonly SyncVerification[],
): readonly SyncVerification[] {
  const referenced = spec.commit.verificationRef?.name;
  return all.filter(
    (one) =>
      one.metadata.namespace === metadata.namespace &&
      (one.spec.clusterSyncRef.name === metadata.name || one.metadata.name === referenced),
  );
}

/**
 * Why no SyncVerification shows that the destination has the data of the source; undefined once one of the whole sync has compared
 * everything and knows of no difference that the lag does not explain, and no other one knows of any.
 * @param verifications - as {@link verificationsFor} selects them.
 */
export function doubtOfAll(
  clusterSync: ClusterSync,
  verifications: readonly SyncVerification[],
  demand: VerificationDemand,
): ConditionCause | undefined {
  const { name } = clusterSync.metadata;
  const doubts = verifications
    .filter(
      ({ spec, metadata }) =>
        spec.clusterSyncRef.name === name && metadata.deletionTimestamp === undefined,
    )
    .map((verification) => doubtOf(clusterSync, verification, demand));
  const differences = doubts.filter(isOfDifferences);
  const known = gravestCause(differences.map((doubt) => causeOf(doubt, demand)));
  if (known) return known;
  const doubt = demand.isOfCommit
    ? doubtOfReferenced(clusterSync, verifications, demand)
    : doubtOfWhole(doubts);
  return doubt && causeOf(doubt, demand);
}

function doubtOfReferenced(
  clusterSync: ClusterSync,
  verifications: readonly SyncVerification[],
  demand: VerificationDemand,
): Doubt | undefined {
  const name = clusterSync.spec.commit.verificationRef?.name;
  if (name === undefined) return undefined;
  const referenced = verifications.find(({ metadata }) => metadata.name === name);
  return referenced
    ? doubtOf(clusterSync, referenced, demand)
    : { kind: 'waiting', fact: `the SyncVerification ${name} does not exist` };
}

function doubtOfWhole(doubts: readonly (Doubt | undefined)[]): Doubt | undefined {
  const whole = doubts.filter((doubt) => doubt?.kind !== 'unfit');
  if (whole.includes(undefined)) return undefined;
  const which =
    doubts.length === 0 ? 'no SyncVerification' : 'no SyncVerification without spec.filter';
  return whole[0] ?? { kind: 'none', fact: `${which} compares the data of this sync` };
}

function isOfDifferences(doubt: Doubt | undefined): doubt is Doubt {
  return doubt?.kind === 'differences' || doubt?.kind === 'different';
}

/** What makes an ended verification cover the data again. */
const runAgain = 'Start another run (spec.rerun)';

const waitingCause = { reason: 'WaitingForVerification', level: 'waiting' } as const;
const stalledCause = { reason: 'WaitingForVerification', level: 'stalled' } as const;
const failedCause = { reason: 'VerificationFailed', level: 'stalled', action: runAgain } as const;

const causes: Readonly<
  Record<Doubt['kind'], Omit<ConditionCause, 'message'> & { readonly action?: string }>
> = {
  none: { reason: 'NotVerified', level: 'waiting' },
  waiting: waitingCause,
  differences: { ...waitingCause, action: 'If they remain, repair the sync (spec.repair)' },
  stalled: { ...stalledCause, action: runAgain },
  unfit: {
    ...stalledCause,
    action: 'Name one of the whole sync in spec.commit.verificationRef',
  },
  different: failedCause,
  failed: failedCause,
};

function causeOf(
  { kind, fact }: Doubt,
  { isOfCommit }: Pick<VerificationDemand, 'isOfCommit'>,
): ConditionCause {
  const { reason, level, action } = causes[kind];
  const outcome =
    level === 'stalled' ? ': the operator does not commit' : ': the commit waits for it';
  const message = `${fact}${isOfCommit ? outcome : ''}${action === undefined ? '' : `. ${action}`}`;
  return { reason, level, message };
}

/** A verification with a filter may know of differences, but proves nothing of the whole sync. */
function doubtOf(
  clusterSync: ClusterSync,
  verification: SyncVerification,
  demand: VerificationDemand,
): Doubt | undefined {
  const { spec, metadata } = verification;
  const unfit = (what: string): Doubt => ({
    kind: 'unfit',
    fact: `the SyncVerification ${metadata.name} ${what}`,
  });
  if (spec.clusterSyncRef.name !== clusterSync.metadata.name)
    return unfit('belongs to another ClusterSync');
  const doubt = doubtOfOwn(clusterSync, verification, demand);
  return spec.filter === undefined || isOfDifferences(doubt)
    ? doubt
    : unfit('has spec.filter, so it compares only a part');
}

function doubtOfOwn(
  { spec }: ClusterSync,
  verification: SyncVerification,
  demand: VerificationDemand,
): Doubt | undefined {
  const { status, spec: wanted } = verification;
  const { name, deletionTimestamp } = verification.metadata;
  const { isQuiet, syncStartedAt } = demand;
  const called = `the SyncVerification ${name}`;
  const waiting = (what: string): Doubt => ({ kind: 'waiting', fact: `${called} ${what}` });
  const stalled = (what: string): Doubt => ({ kind: 'stalled', fact: `${called} ${what}` });
  if (deletionTimestamp !== undefined) return waiting('is being deleted');
  // What it compares, and how, can be changed only together with rerun.
  if (wanted.rerun !== undefined && wanted.rerun !== status?.run?.rerun)
    return waiting('is about to run again');
  // A verification that is not known to be about this sync is about another one.
  const isOfSync = syncStartedAt !== undefined && status?.run?.syncStartedAt === syncStartedAt;
  if (status?.completedAt !== undefined && !isOfSync)
    return stalled('has compared the data of another sync');
  const isOfThis = isOfSync && status.run.direction === spec.direction;
  if (isOfThis && status.verdict === 'Equal') {
    return isConditionTrue(status.conditions, 'Consistent')
      ? undefined
      : stalled('has ended, and no longer covers the data');
  }
  if (isOfThis && status.completedAt !== undefined) {
    return status.verdict === 'Different'
      ? { kind: 'different', fact: `${called} has found differences` }
      : { kind: 'failed', fact: `${called} has ended without a verdict` };
  }
  if (!isOfThis || status.phase !== 'Checking') return waiting('is not comparing the data yet');
  const reported = readVerification(status.verifier?.progress);
  const known = knownDifferences(status, reported, spec.commit.maxLagSeconds, demand);
  const differences: Doubt = {
    kind: 'differences',
    fact: `${called} has found differences, and rechecks them`,
  };
  if (known === 'old') return differences;
  // Old figures say nothing about what has been written since.
  const { reason } = findCondition(status.conditions, 'Ready') ?? {};
  if (reason !== 'Checking' || !demand.isHeardOf(verification))
    return waiting('reports no current progress');
  const asOf = reported?.asOf;
  if (isQuiet && asOf !== undefined && demand.nowMs - Date.parse(asOf) > unreachableGraceMs)
    return waiting(`reports its progress as of ${asOf}: its metadata store does not answer`);
  if (known === 'recent' && isQuiet) return differences;
  if (known === 'unknown') return waiting('has not compared everything once');
  if (known === 'untold') return waiting('is in the middle of a pass, and reports no earlier one');
  const { left, waitingForNext } = countsOf(status);
  return isQuiet && left + waitingForNext > 0
    ? waiting('is comparing the latest changes')
    : undefined;
}

/** What a running verification knows of differences. untold: the tool reports only the pass under way. */
function knownDifferences(
  status: SyncVerificationStatus,
  reported: ReportedVerification | undefined,
  maxLagSeconds: number,
  { isAskedAgain }: VerificationDemand,
): OpenDifferences | 'untold' {
  const { verificationStatus } = status;
  const open =
    reported && openDifferences({ lastPass: reported.lastPass, verificationStatus }, maxLagSeconds);
  if (open !== undefined) return open;
  // Another tool tells only what the pass under way has found, which begins with nothing.
  if (failedTasks(verificationStatus) > 0) return 'old';
  if (countsOf(status).isOver) return 'none';
  if (reported?.phase !== 'recheck') return 'unknown';
  return isAskedAgain ? 'none' : 'untold';
}

/** The counts of the contract: those of the current pass, or of the last one until the next begins. */
function countsOf({ verificationStatus: counts }: SyncVerificationStatus) {
  const left = taskCount(counts, 'addedTasks', 'processingTasks');
  return {
    left,
    isOver: left === 0 && taskCount(counts, 'totalTasks') > 0,
    waitingForNext: taskCount(counts, 'recheckTasks'),
  };
}
