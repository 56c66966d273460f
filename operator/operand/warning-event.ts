import { findCondition, type Condition } from '../kube/conditions.ts';
import type { EventDraft } from '../kube/event-recorder.ts';

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

function warningOf(status: WithConditions | undefined, passing: readonly string[]) {
  const stalled = findCondition(status?.conditions, 'Stalled');
  if (stalled) return stalled;
  const ready = findCondition(status?.conditions, 'Ready');
  const isPassing = ready && [...passingReasons, ...passing].includes(ready.reason);
  return isPassing ? ready : undefined;
}
