import { reasonFor, type ApiError } from './http-api.ts';
import { isCurrent, type Observation } from './observation.ts';
import type { Trouble } from './trouble.ts';

/**
 * What to say of a command that was not answered.
 * @param who - the process, as a message names it.
 */
export function unansweredTrouble(
  { name, description }: ApiError,
  who: string,
  command: string,
): Trouble {
  return {
    reason: reasonFor(name),
    message: `${who} has not answered ${command}, and it is not known whether it is taken: ${description}`,
    level: 'waiting',
  };
}

/** Time that a process may take until it answers for the first time. */
const startGraceMs = 30_000;

/**
 * What to say of a process that runs and does not answer.
 * @param silent - the reason, and the process as a message names it.
 */
export function unreachableTrouble(
  { answer, unreachable }: Pick<Observation<unknown, string>, 'answer' | 'unreachable'>,
  silent: { readonly reason: string; readonly who: string },
  nowMs: number,
): Trouble | undefined {
  if (!unreachable) return undefined;
  if (answer && isCurrent({ answer, unreachable }, nowMs)) return undefined;
  const { sinceMs, description, isUntrusted = false } = unreachable;
  const message = `${silent.who}: ${description}`;
  if (isUntrusted) return { reason: 'CertificateNotTrusted', message, level: 'warning' };
  // A process that has just been started does not listen yet.
  const isStarting = !answer && nowMs - sinceMs < startGraceMs;
  return isStarting
    ? { reason: 'Starting', message, level: 'waiting' }
    : { reason: silent.reason, message, level: 'warning' };
}
