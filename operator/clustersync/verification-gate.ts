import { failedTasks, openDifferences, taskCount } from '../../sync-api/open-differences.ts';
import { readVerification } from '../../sync-api/verifier-answers.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import type { SyncVerification, SyncVerificationStatus } from '../api/sync-verification.ts';
import { findCondition, isConditionTrue } from '../kube/conditions.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';

/** What a verification must be about, and have compared. */
export interface VerificationDemand {
  /**
   * Writes have stopped, so nothing may be left to compare, and nothing may differ. Before that, there always is something to compare; and
   * where documents are written all the time, some always differ: those that the lag explains do not count.
   */
  readonly isQuiet: boolean;
  /** Whether the same is asked again before the commit is sent, once workloads have stopped. */
  readonly isAskedAgain: boolean;
  /** Whether this operator has heard of a verification since it began: a stored status may be of long ago. */
  readonly isHeardOf: (verification: SyncVerification) => boolean;
  /** See `syncStartOf`. */
  readonly syncStartedAt: string | undefined;
}

/** Why a verification does not show that the destination has the data of the source. */
interface Doubt {
  /** differences, different: it has found some; different, failed: it has ended. */
  readonly kind: 'waiting' | 'stalled' | 'differences' | 'different' | 'failed';
  readonly fact: string;
}

/** What lets a verification that has ended speak of the data again. */
const runAgain = 'Start another run (spec.rerun)';

/**
 * Why a commit waits for the verification of `spec.commit.verificationRef`; undefined once that has compared everything and knows of no
 * difference.
 */
export function obstacleOfVerification(
  clusterSync: ClusterSync,
  verification: SyncVerification | undefined,
  demand: VerificationDemand,
): ConditionCause | undefined {
  const name = clusterSync.spec.commit.verificationRef?.name ?? '';
  const doubt: Doubt | undefined = verification
    ? doubtOf(clusterSync, verification, demand)
    : { kind: 'waiting', fact: `the SyncVerification ${name} does not exist` };
  return doubt && causeOf(doubt, { isOfCommit: true });
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
  { isHeardOf, syncStartedAt }: Pick<VerificationDemand, 'isHeardOf' | 'syncStartedAt'>,
): ConditionCause | undefined {
  const { name } = clusterSync.metadata;
  const own = verifications
    .filter(
      ({ spec, metadata }) =>
        spec.clusterSyncRef.name === name && metadata.deletionTimestamp === undefined,
    )
    .map((verification) => ({
      isWhole: verification.spec.filter === undefined,
      doubt: doubtOf(clusterSync, verification, {
        ...{ isQuiet: false, isAskedAgain: false, isHeardOf, syncStartedAt },
      }),
    }));
  const different = own.find(({ doubt }) => isOfDifferences(doubt))?.doubt;
  if (different) return causeOf(different, { isOfCommit: false });
  const whole = own.filter(({ isWhole }) => isWhole);
  if (whole.some(({ doubt }) => doubt === undefined)) return undefined;
  const [first] = whole;
  if (first?.doubt) return causeOf(first.doubt, { isOfCommit: false });
  const which =
    own.length === 0 ? 'no SyncVerification' : 'no SyncVerification without spec.filter';
  const message = `${which} compares the data of this sync`;
  return { reason: 'NotVerified', message, level: 'waiting' };
}

function isOfDifferences(doubt: Doubt | undefined): boolean {
  return doubt?.kind === 'differences' || doubt?.kind === 'different';
}

const waitingCause = { reason: 'WaitingForVerification', level: 'waiting' } as const;
const stalledCause = { reason: 'WaitingForVerification', level: 'stalled' } as const;
const failedCause = { reason: 'VerificationFailed', level: 'stalled' } as const;

const causes: Readonly<Record<Doubt['kind'], Omit<ConditionCause, 'message'>>> = {
  waiting: waitingCause,
  differences: waitingCause,
  stalled: stalledCause,
  different: failedCause,
  failed: failedCause,
};

/** @param isOfCommit - whether a commit is asked for: then the message says what becomes of it. */
function causeOf(
  { kind, fact }: Doubt,
  { isOfCommit }: { readonly isOfCommit: boolean },
): ConditionCause {
  const cause = causes[kind];
  const isStalled = cause.level === 'stalled';
  const outcome = isStalled ? ': the operator does not commit' : ': the commit waits for it';
  const action = isStalled ? `. ${runAgain}` : '';
  return { ...cause, message: `${fact}${isOfCommit ? outcome : ''}${action}` };
}

function doubtOf(
  { metadata, spec }: ClusterSync,
  verification: SyncVerification,
  demand: VerificationDemand,
): Doubt | undefined {
  const { status, spec: wanted } = verification;
  const { name, deletionTimestamp } = verification.metadata;
  const { isQuiet, syncStartedAt } = demand;
  const called = `the SyncVerification ${name}`;
  const waiting = (what: string): Doubt => ({ kind: 'waiting', fact: `${called} ${what}` });
  const stalled = (what: string): Doubt => ({ kind: 'stalled', fact: `${called} ${what}` });
  if (wanted.clusterSyncRef.name !== metadata.name)
    return stalled('belongs to another ClusterSync');
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
  const known = knownDifferences(status, spec.commit.maxLagSeconds, demand);
  if (known === 'some')
    return { kind: 'differences', fact: `${called} has found differences, and rechecks them` };
  // Old figures say nothing about what has been written since.
  const { reason } = findCondition(status.conditions, 'Ready') ?? {};
  if (reason !== 'Checking' || !demand.isHeardOf(verification))
    return waiting('reports no current progress');
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
  maxLagSeconds: number,
  { isQuiet, isAskedAgain }: VerificationDemand,
): 'none' | 'some' | 'unknown' | 'untold' {
  const reported = readVerification(status.verifier?.progress);
  const { verificationStatus } = status;
  const open =
    reported && openDifferences({ lastPass: reported.lastPass, verificationStatus }, maxLagSeconds);
  switch (open) {
    case 'none':
    case 'unknown':
      return open;
    case 'recent':
      return isQuiet ? 'some' : 'none';
    case 'old':
      return 'some';
    case undefined: {
      // Another tool tells only what the pass under way has found, which begins with nothing.
      if (failedTasks(verificationStatus) > 0) return 'some';
      if (countsOf(status).isOver) return 'none';
      if (reported?.phase !== 'recheck') return 'unknown';
      return isAskedAgain ? 'none' : 'untold';
    }
  }
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
