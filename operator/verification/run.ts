import { createHash } from 'node:crypto';
import type { ClusterSync } from '../api/clustersync.ts';
import type {
  SyncVerification,
  SyncVerificationSpec,
  SyncVerificationStatus,
} from '../api/sync-verification.ts';
import { syncOnRecord } from '../operand/sync-start.ts';

/** One run of a verification; a new value of `spec.rerun` starts another one. */
export type Run = NonNullable<SyncVerificationStatus['run']>;

/** A SyncVerification whose status is that of the wanted run. */
export interface RunningVerification extends SyncVerification {
  readonly status: SyncVerificationStatus & { readonly run: Run };
}

/** Whether a run has ended: then its status no longer changes. */
export function hasEnded(status: SyncVerificationStatus | undefined): boolean {
  return status?.completedAt !== undefined;
}

/**
 * The verification with the wanted run: that of its status as long as nothing else is requested, or a new one, of which nothing is
 * known yet. If the sync is reversed meanwhile, or replaced by another one, a run that is under way starts over; one that has ended
 * stays as it is.
 */
export function withRun(
  verification: SyncVerification,
  clusterSync: ClusterSync | undefined,
): RunningVerification {
  const { spec, status, metadata } = verification;
  const inputsHash = hashOf(spec);
  const former = status?.run;
  const direction = clusterSync ? (clusterSync.status?.direction ?? 'Forward') : former?.direction;
  const syncStartedAt = (clusterSync && syncOnRecord(clusterSync)) ?? former?.syncStartedAt;
  // Before the check, the run is about whichever sync there will be.
  const isOfSync =
    former?.syncStartedAt === syncStartedAt ||
    (former?.syncStartedAt === undefined && status?.startedAt === undefined);
  const ofSync = syncStartedAt === undefined ? {} : { syncStartedAt };
  const isWanted =
    former?.inputsHash === inputsHash &&
    (spec.rerun === undefined || spec.rerun === former.rerun) &&
    (hasEnded(status) || (direction === former.direction && isOfSync));
  if (isWanted) {
    const run = hasEnded(status) ? former : { ...former, ...ofSync };
    return { ...verification, status: { ...status, run } };
  }
  const run: Run = {
    ...(spec.rerun !== undefined && { rerun: spec.rerun }),
    attempt: Math.max(metadata.generation ?? 0, (former?.attempt ?? 0) + 1),
    direction: direction ?? 'Forward',
    ...ofSync,
    inputsHash,
  };
  // The times of the conditions say since when they hold, which a new run does not change; nor does it give the pods other Secrets.
  const { conditions, secretsChangedAt } = status ?? {};
  const kept = {
    ...(conditions && { conditions }),
    ...(secretsChangedAt !== undefined && { secretsChangedAt }),
  };
  return { ...verification, status: { ...kept, run } };
}

/** The argument that tells the pods of a run from those of another one, which still exist while a StatefulSet is updated. */
export function attemptArgument({ attempt }: Run): string {
  return `--attempt=${attempt}`;
}

/** JSON that a pod's command line leaves unchanged: Kubernetes gives dollar signs a meaning. */
export function jsonArgument(name: string, value: unknown): string {
  return `--${name}=${JSON.stringify(value).replaceAll('$', String.raw`\u0024`)}`;
}

/** What is compared, and how. That of `Bytes` is what an operator without `spec.comparison` has recorded. */
function hashOf({ filter, comparison }: SyncVerificationSpec): string {
  const inputs = { ...filter, ...(comparison === 'Hashes' && { comparison }) };
  return createHash('sha256').update(JSON.stringify(inputs)).digest('hex').slice(0, 16);
}
