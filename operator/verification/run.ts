import { createHash } from 'node:crypto';
import type {
  SyncVerification,
  SyncVerificationSpec,
  SyncVerificationStatus,
} from '../api/sync-verification.ts';
import type { Pod } from '../kube/builtin-resources.ts';

/** One run of a verification, which a new value of `spec.rerun` follows by another one. */
export type Run = NonNullable<SyncVerificationStatus['run']>;

/** A SyncVerification whose status is that of the run that is wanted. */
export interface RunningVerification extends SyncVerification {
  readonly status: SyncVerificationStatus & { readonly run: Run };
}

/**
 * The verification with the run that is wanted: that of its status, as long as nothing else is asked for, or a new one, of
 * which nothing is known yet. Its number is the generation that asks for it: that grows from run to run.
 */
export function withRun(verification: SyncVerification): RunningVerification {
  const { spec, status, metadata } = verification;
  const inputsHash = hashOf(spec.filter ?? {});
  const former = status?.run;
  const isWanted =
    former?.inputsHash === inputsHash && (spec.rerun === undefined || spec.rerun === former.rerun);
  if (isWanted) return { ...verification, status: { ...status, run: former } };
  const run: Run = {
    ...(spec.rerun !== undefined && { rerun: spec.rerun }),
    attempt: metadata.generation ?? 0,
    inputsHash,
  };
  // The times of the conditions tell since when they are so: that goes on.
  const { conditions } = status ?? {};
  return { ...verification, status: { ...(conditions && { conditions }), run } };
}

/** The argument that tells the pods of a run from those of another one. */
export function attemptArgument({ attempt }: Run): string {
  return `--attempt=${attempt}`;
}

/** Whether a pod works on a run: while a StatefulSet is changed, pods of the former one are still there. */
export function isOfRun(pod: Pod, run: Run): boolean {
  const argument = attemptArgument(run);
  return pod.spec?.containers.some(({ args }) => args?.includes(argument)) === true;
}

/** JSON in which a pod's command line leaves everything as it is: Kubernetes gives a meaning to dollar signs. */
export function jsonArgument(name: string, value: unknown): string {
  return `--${name}=${JSON.stringify(value).replaceAll('$', String.raw`\u0024`)}`;
}

function hashOf(filter: NonNullable<SyncVerificationSpec['filter']>): string {
  return createHash('sha256').update(JSON.stringify(filter)).digest('hex').slice(0, 16);
}
