import { createHash } from 'node:crypto';
import type { ClusterSync } from '../api/clustersync.ts';
import type {
  SyncVerification,
  SyncVerificationSpec,
  SyncVerificationStatus,
} from '../api/sync-verification.ts';
import { syncOnRecord } from '../operand/sync-start.ts';

/** One run of a verification, which a new value of `spec.rerun` follows by another one. */
export type Run = NonNullable<SyncVerificationStatus['run']>;

/** A SyncVerification whose status is that of the run that is wanted. */
export interface RunningVerification extends SyncVerification {
  readonly status: SyncVerificationStatus & { readonly run: Run };
}

/** Whether a run has ended: then nothing of its status changes any more. */
export function hasEnded(status: SyncVerificationStatus | undefined): boolean {
  return status?.completedAt !== undefined;
}

/**
 * The verification with the run that is wanted: that of its status, as long as nothing else is asked for, or a new one, of
 * which nothing is known yet. Where the sync is turned round meanwhile, or another one takes its place, what is under way starts
 * over; what is over stays so.
 */
export function withRun(
  verification: SyncVerification,
  clusterSync: ClusterSync | undefined,
): RunningVerification {
  const { spec, status, metadata } = verification;
  const inputsHash = hashOf(spec.filter ?? {});
  const former = status?.run;
  const direction = clusterSync ? (clusterSync.status?.direction ?? 'Forward') : former?.direction;
  const syncStartedAt = (clusterSync && syncOnRecord(clusterSync)) ?? former?.syncStartedAt;
  // Before the check, it is about whichever sync comes to be.
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
  // The times of the conditions tell since when they are so: that goes on.
  const { conditions } = status ?? {};
  return { ...verification, status: { ...(conditions && { conditions }), run } };
}

/** The argument that tells the pods of a run from those of another one, which are still there while a StatefulSet is changed. */
export function attemptArgument({ attempt }: Run): string {
  return `--attempt=${attempt}`;
}

/** JSON in which a pod's command line leaves everything as it is: Kubernetes gives a meaning to dollar signs. */
export function jsonArgument(name: string, value: unknown): string {
  return `--${name}=${JSON.stringify(value).replaceAll('$', String.raw`\u0024`)}`;
}

function hashOf(filter: NonNullable<SyncVerificationSpec['filter']>): string {
  return createHash('sha256').update(JSON.stringify(filter)).digest('hex').slice(0, 16);
}
