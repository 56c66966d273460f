import { findCondition, type Condition, type ConditionDraft } from '../kube/conditions.ts';
import type { EventDraft } from '../kube/event-recorder.ts';
import type { ConditionCause } from './condition-cause.ts';

/** What the conditions of a status say. */
interface WithConditions {
  readonly conditions?: readonly Condition[] | undefined;
}

/** Reasons of any operand for not being ready that somebody may want to know about, although they should pass. */
const passingReasons: readonly string[] = [
  'SecretNotFound',
  'CertificateNotTrusted',
  'PodCrashLooping',
  'PodUnschedulable',
];

/**
 * The event that says what newly keeps an object from being ready: that it is stalled, or a reason that somebody may
 * want to know about, although it should pass.
 * @param passing - such reasons that not every operand has.
 */
export function warningEvents(
  former: WithConditions | undefined,
  next: WithConditions,
  passing: readonly string[],
): Omit<EventDraft, 'regarding'>[] {
  const warning = warningOf(next, passing);
  if (!warning || warning.reason === warningOf(former, passing)?.reason) return [];
  const { reason, message } = warning;
  return [{ type: 'Warning', reason, action: 'Reconcile', note: message }];
}

/** The condition of pods whose Secrets cannot be read, or not again. */
const secretProblemType = 'SecretProblem';

/** That condition; none without such a problem. */
export function secretProblemConditions(problem: ConditionCause | undefined): ConditionDraft[] {
  if (!problem) return [];
  const { reason, message } = problem;
  return [{ type: secretProblemType, status: 'True', reason, message }];
}

/** The event that says a new one of these problems. */
export function secretProblemEvents(
  former: WithConditions | undefined,
  next: WithConditions,
): Omit<EventDraft, 'regarding'>[] {
  const problem = findCondition(next.conditions, secretProblemType);
  if (!problem) return [];
  const { reason, message: note } = problem;
  return note === findCondition(former?.conditions, secretProblemType)?.message
    ? []
    : [{ type: 'Warning', reason, action: 'Reconcile', note }];
}

/** The event that the pods get changed Secrets, one for each change. */
export function secretsChangedEvents(
  former: { readonly secretsChangedAt?: string } | undefined,
  { secretsChangedAt }: { readonly secretsChangedAt?: string },
): Omit<EventDraft, 'regarding'>[] {
  if (secretsChangedAt === undefined || secretsChangedAt === former?.secretsChangedAt) return [];
  const note =
    'the pods are restarted: a connection string, user, password or certificate that they read from Secrets is different';
  return [{ type: 'Normal', reason: 'SecretsChanged', action: 'Restart', note }];
}

/** The condition that such an event is about. @param passing - as in {@link warningEvents}. */
export function warningOf(
  status: WithConditions | undefined,
  passing: readonly string[],
): Condition | undefined {
  const stalled = findCondition(status?.conditions, 'Stalled');
  if (stalled) return stalled;
  const ready = findCondition(status?.conditions, 'Ready');
  const isPassing = ready && [...passingReasons, ...passing].includes(ready.reason);
  return isPassing ? ready : undefined;
}
