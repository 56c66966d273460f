import { readVerification } from '../../sync-api/verifier-answers.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import type { SyncVerification, SyncVerificationStatus } from '../api/sync-verification.ts';
import { findCondition, isConditionTrue } from '../kube/conditions.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';

/**
 * Why a commit waits for its verification; undefined once that has compared everything and knows of no difference.
 * @param situation - `isQuiet`: writes have stopped, so nothing may be left to compare. Before that, there always is.
 *   `syncStartedAt`: see {@link syncStartOf}.
 */
export function obstacleOfVerification(
  { metadata, spec }: ClusterSync,
  verification: SyncVerification | undefined,
  {
    isQuiet,
    syncStartedAt,
  }: { readonly isQuiet: boolean; readonly syncStartedAt: string | undefined },
): ConditionCause | undefined {
  const name = spec.commit.verificationRef?.name ?? '';
  const waiting = (message: string): ConditionCause => {
    return { reason: 'WaitingForVerification', message, level: 'waiting' };
  };
  if (!verification)
    return waiting(`the commit waits for the SyncVerification ${name}, which does not exist`);
  const { status, spec: wanted } = verification;
  if (wanted.clusterSyncRef.name !== metadata.name) {
    const message = `the SyncVerification ${name} belongs to another ClusterSync: the operator does not commit`;
    return { reason: 'WaitingForVerification', message, level: 'stalled' };
  }
  // A verification that is not known to be about this sync is about another one.
  const isOfSync = syncStartedAt !== undefined && status?.run?.syncStartedAt === syncStartedAt;
  const isRerunWanted = wanted.rerun !== undefined && wanted.rerun !== status?.run?.rerun;
  if (status?.completedAt !== undefined && isRerunWanted) {
    return waiting(`the commit waits for the SyncVerification ${name} to run again`);
  }
  if (status?.completedAt !== undefined && !isOfSync) {
    const message = `the SyncVerification ${name} has compared the data of another sync: the operator does not commit until another run (spec.rerun) has compared this one`;
    return { reason: 'WaitingForVerification', message, level: 'stalled' };
  }
  const isOfThis = isOfSync && status.run.direction === spec.direction;
  if (isOfThis && status.verdict === 'Equal') {
    if (isConditionTrue(status.conditions, 'Consistent')) return undefined;
    const message = `the SyncVerification ${name} has ended, and no longer covers the data: the operator does not commit until another run (spec.rerun) has compared it`;
    return { reason: 'WaitingForVerification', message, level: 'stalled' };
  }
  if (isOfThis && status.completedAt !== undefined) {
    const message = `the SyncVerification ${name} ${status.verdict === 'Different' ? 'has found differences' : 'has ended without a verdict'}: the operator does not commit until another run (spec.rerun) has found none`;
    return { reason: 'VerificationFailed', message, level: 'stalled' };
  }
  if (!isOfThis || status.phase !== 'Checking') {
    return waiting(`the commit waits for the SyncVerification ${name} to compare the data`);
  }
  // Old figures say nothing about what has been written since.
  const { reason } = findCondition(status.conditions, 'Ready') ?? {};
  if (reason !== 'Checking') {
    return waiting(`the commit waits for progress of the SyncVerification ${name}`);
  }
  const { failed, left, waitingForNext, isFirst } = countsOf(status);
  if (isFirst) return waiting(`the SyncVerification ${name} has not compared everything once`);
  if (failed > 0)
    return waiting(`the SyncVerification ${name} has found differences, and rechecks them`);
  if (isQuiet && left + waitingForNext > 0) {
    return waiting(`the SyncVerification ${name} is comparing the latest changes`);
  }
  return undefined;
}

/** The counts of the contract: those of the current pass, or of the last one until the next begins. */
function countsOf({ verificationStatus, verifier }: SyncVerificationStatus) {
  const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
  const counts = verificationStatus ?? {};
  const left = count(counts.addedTasks) + count(counts.processingTasks);
  const isOver = left === 0 && count(counts.totalTasks) > 0;
  return {
    left,
    failed: count(counts.failedTasks) + count(counts.metadataMismatchTasks),
    waitingForNext: count(counts.recheckTasks),
    isFirst: readVerification(verifier?.progress)?.phase !== 'recheck' && !isOver,
  };
}
