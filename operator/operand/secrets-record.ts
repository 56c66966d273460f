import type { StatefulSet } from '../kube/builtin-resources.ts';
import { secondTime } from '../kube/micro-time.ts';
import {
  secretsChangedAnnotation,
  secretsHashAnnotation,
  secretsHashOf,
  type ConnectionSecrets,
  type OperandSecrets,
  type SecretsRecord,
} from './operand-secrets.ts';
import { tokenArgument } from './workload.ts';

/** What is known when pods are to be made of Secrets. */
interface Surroundings {
  /** The operand's, if there is one. */
  readonly statefulSet: StatefulSet | undefined;
  readonly nowMs: number;
  /** Whether pods are to run at all: otherwise nobody gets the Secrets. */
  readonly hasPods: boolean;
}

/**
 * What the StatefulSet is to record. The time follows from what it records already: another operator, or one whose status was not
 * written, comes to the same.
 * @returns undefined as {@link secretsHashOf}.
 */
export function secretsRecordOf(
  secrets: ConnectionSecrets & Pick<OperandSecrets, 'token'>,
  { statefulSet, nowMs, hasPods }: Surroundings,
): SecretsRecord | undefined {
  const hash = secretsHashOf(secrets, statefulSet);
  if (hash === undefined) return undefined;
  const { template } = statefulSet?.spec ?? {};
  const former = template?.metadata?.annotations?.[secretsHashAnnotation];
  // The hash is keyed with the token: after a change of that, it says nothing about the Secrets.
  const isComparable = template?.spec?.containers.some(({ args }) =>
    args?.includes(tokenArgument(secrets.token)),
  );
  return hasPods && isComparable && former !== undefined && former !== hash
    ? { hash, changedAt: secondTime(nowMs), replaces: statefulSet?.metadata.resourceVersion }
    : { hash, changedAt: recordedChange(statefulSet), replaces: undefined };
}

/** When the pods of a StatefulSet were last given changed Secrets, as it records; undefined if never. */
export function recordedChange(statefulSet: StatefulSet | undefined): string | undefined {
  const text = statefulSet?.metadata.annotations?.[secretsChangedAnnotation] ?? '';
  // Others can write it, and a status with something else would not be accepted.
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text)) return undefined;
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && secondTime(ms) === text ? text : undefined;
}
