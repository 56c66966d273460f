import { readVerification } from '../../sync-api/verifier-answers.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import type { SyncVerification, SyncVerificationStatus } from '../api/sync-verification.ts';
import { findCondition, isConditionTrue } from '../kube/conditions.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';

/** What a verification must be about, and have compared. */
export interface VerificationDemand {
  /** Writes have stopped, so nothing may be left to compare. Before that, there always is. */
  readonly isQuiet: boolean;
  /** See `syncStartOf`. */
  readonly syncStartedAt: string | undefined;
}

/** Why a verification does not show that the destination has the data of the source. */
interface Doubt {
  /** differences: it has found some. */
  readonly kind: 'waiting' | 'stalled' | 'differences' | 'failed';
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
  switch (doubt?.kind) {
    case undefined:
      return undefined;
    case 'waiting':
    case 'differences':
      return { ...causeOf(doubt), message: `${doubt.fact}: the commit waits for it` };
    case 'stalled':
    case 'failed': {
      const message = `${doubt.fact}: the operator does not commit. ${runAgain}`;
      return { ...causeOf(doubt), message };
    }
  }
}

/**
 * Why no SyncVerification shows that the destination has the data of the source; undefined once one of the whole sync has compared
 * everything and knows of no difference, and no other one knows of any.
 * @param verifications - those in the namespace of the ClusterSync.
 */
export function doubtOfAll(
  clusterSync: ClusterSync,
  verifications: readonly SyncVerification[],
  syncStartedAt: string | undefined,
): ConditionCause | undefined {
  const { name } = clusterSync.metadata;
  const own = verifications
    .filter(
      ({ spec, metadata }) =>
        spec.clusterSyncRef.name === name && metadata.deletionTimestamp === undefined,
    )
    .map((verification) => ({
      isWhole: verification.spec.filter === undefined,
      doubt: doubtOf(clusterSync, verification, { isQuiet: false, syncStartedAt }),
    }));
  const different = own.find(({ doubt }) => isOfDifferences(doubt))?.doubt;
  if (different) return causeOf(different);
  const whole = own.filter(({ isWhole }) => isWhole);
  if (whole.some(({ doubt }) => doubt === undefined)) return undefined;
  const [first] = whole;
  if (first?.doubt) return causeOf(first.doubt);
  const which =
    own.length === 0 ? 'no SyncVerification' : 'no SyncVerification without spec.filter';
  const message = `${which} compares the data of this sync`;
  return { reason: 'NotVerified', message, level: 'waiting' };
}

function isOfDifferences(doubt: Doubt | undefined): boolean {
  return doubt?.kind === 'differences' || doubt?.kind === 'failed';
}

function causeOf({ kind, fact }: Doubt): ConditionCause {
  switch (kind) {
    case 'waiting':
    case 'differences':
      return { reason: 'WaitingForVerification', message: fact, level: 'waiting' };
    case 'stalled': {
      const message = `${fact}. ${runAgain}`;
      return { reason: 'WaitingForVerification', message, level: 'stalled' };
    }
    case 'failed': {
      const message = `${fact}. ${runAgain}`;
      return { reason: 'VerificationFailed', message, level: 'stalled' };
    }
  }
}

function doubtOf(
  { metadata, spec }: ClusterSync,
  { metadata: { name, deletionTimestamp }, status, spec: wanted }: SyncVerification,
  { isQuiet, syncStartedAt }: VerificationDemand,
): Doubt | undefined {
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
    const isDifferent = status.verdict === 'Different';
    const what = isDifferent ? 'has found differences' : 'has ended without a verdict';
    return { kind: 'failed', fact: `${called} ${what}` };
  }
  if (!isOfThis || status.phase !== 'Checking') return waiting('is not comparing the data yet');
  // Old figures say nothing about what has been written since.
  const { reason } = findCondition(status.conditions, 'Ready') ?? {};
  if (reason !== 'Checking') return waiting('reports no current progress');
  const { unresolved, left, waitingForNext } = countsOf(status);
  if (unresolved === null) return waiting('has not compared everything once');
  if (unresolved !== 0)
    return { kind: 'differences', fact: `${called} has found differences, and rechecks them` };
  return isQuiet && left + waitingForNext > 0
    ? waiting('is comparing the latest changes')
    : undefined;
}

/** The counts of the contract: those of the current pass, or of the last one until the next begins. */
function countsOf({ verificationStatus, verifier }: SyncVerificationStatus) {
  const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
  const counts = verificationStatus ?? {};
  const left = count(counts.addedTasks) + count(counts.processingTasks);
  const isOver = left === 0 && count(counts.totalTasks) > 0;
  const { phase, unresolvedMismatchCount: reported } = readVerification(verifier?.progress) ?? {};
  const failed = count(counts.failedTasks) + count(counts.metadataMismatchTasks);
  // Another tool tells only what the current pass has found, which begins with nothing.
  const counted = phase === 'recheck' || isOver ? failed : null;
  return {
    left,
    waitingForNext: count(counts.recheckTasks),
    /** Differences that are known; null until everything has been compared once. */
    unresolved: reported === undefined ? counted : reported,
  };
}
