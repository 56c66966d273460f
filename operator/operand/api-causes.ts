import { redact } from '../../service/redact.ts';
import { actionFor, reasonFor, type ApiError } from './http-api.ts';
import { keptError } from './kept-progress.ts';
import { isCurrent, type Observation } from './observation.ts';
import type { PodState } from './pod-state.ts';
import type { ConditionCause } from './condition-cause.ts';

/** What is known about a process of an operand. */
export interface ProcessView {
  readonly pod: PodState | undefined;
  readonly observation: Pick<Observation<unknown, string>, 'answer' | 'unreachable'> | undefined;
}

/**
 * The cause for an error that an API has answered.
 * @param who - and what it does: the message continues with the name of the error.
 */
export function apiErrorCause(
  { name, description, isLasting }: ApiError,
  who: string,
): ConditionCause {
  const action = actionFor(name);
  return {
    reason: reasonFor(name),
    message: `${who} ${name}: ${description}${action === undefined ? '' : ` (${action})`}`,
    // A refused transition has been overtaken by events: the next answer says by which.
    level: isLasting && name !== 'InvalidStateTransition' ? 'stalled' : 'waiting',
  };
}

/**
 * The cause for a command that is not known to be accepted.
 * @param who - the process, as a message names it.
 */
export function commandErrorCause(error: ApiError, who: string, command: string): ConditionCause {
  if (!error.isUnanswered) return apiErrorCause(error, `${who} refuses ${command} with`);
  const { name, description } = error;
  return {
    reason: reasonFor(name),
    message: `${who} has not answered ${command}, and it is unknown whether it was accepted: ${description}`,
    level: 'waiting',
  };
}

/** How long a process may take until its first answer. */
const startGraceMs = 30_000;

/**
 * The cause for a process that runs but does not answer.
 * @param silent - the reason, and the operand as a message names it.
 */
export function silenceCause(
  { pod, observation }: ProcessView,
  silent: { readonly reason: string; readonly who: string },
  nowMs: number,
): ConditionCause | undefined {
  if (pod?.process === undefined || !observation?.unreachable) return undefined;
  if (isCurrent(observation, nowMs)) return undefined;
  const { answer, unreachable } = observation;
  const { sinceMs, description, isUntrusted = false } = unreachable;
  const message = `${silent.who} in the pod ${pod.name}: ${description}`;
  if (isUntrusted) return { reason: 'CertificateNotTrusted', message, level: 'warning' };
  // A process that has just started does not listen yet.
  const isStarting = !answer && nowMs - sinceMs < startGraceMs;
  return isStarting
    ? { reason: 'Starting', message, level: 'waiting' }
    : { reason: silent.reason, message, level: 'warning' };
}

/**
 * What is wrong with a process, for the status: its own answer, or why it does not run or answer.
 * @param instanceCount - as in {@link keptError}.
 */
export function errorText(view: ProcessView, nowMs: number, instanceCount = 1): string | undefined {
  const text = wholeErrorText(view, nowMs);
  return text === undefined ? undefined : keptError(redact(text), instanceCount);
}

function wholeErrorText({ pod, observation }: ProcessView, nowMs: number): string | undefined {
  if (observation?.answer?.kind === 'error') {
    const { name, description } = observation.answer.error;
    return `${name}: ${description}`;
  }
  if (pod?.process === undefined) return pod?.cause?.message ?? 'there is no pod';
  if (!observation?.unreachable || isCurrent(observation, nowMs)) return undefined;
  return observation.unreachable.description;
}
