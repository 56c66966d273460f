import { backoffMs } from '../../service/sleep.ts';
import type { ApiError, Unreachable } from './http-api.ts';

/** What an operand answered to a progress call. */
export type ProgressAnswer<P> = {
  /** Where the process has logged in, as of `destinationHeader`; undefined where the tool does not say, or does not know yet. */
  readonly destination?: string | undefined;
  /** Which deployment that is, as of `deploymentHeader`; undefined where the tool does not say. */
  readonly deployment?: string | undefined;
} & (
  | { readonly kind: 'progress'; readonly progress: P }
  | {
      readonly kind: 'error';
      readonly error: ApiError;
      /** Of the sync that has failed; undefined where the tool does not say, or there is none. */
      readonly optionsDigest?: string | undefined;
    }
);

/** What has become of the last command. Times are milliseconds since 1970. */
export type CommandState<C extends string> = { readonly name: C } & (
  | { readonly kind: 'sending' }
  | { readonly kind: 'taken'; readonly endedMs: number }
  | {
      readonly kind: 'refused';
      readonly error: ApiError;
      /** How often in a row. */
      readonly attempts: number;
      /** Also where it was not answered at all: then it may have been taken. */
      readonly endedMs: number;
      readonly retryAtMs: number;
    }
);

/** What is known of one process of an operand. Times are milliseconds since 1970. */
export interface Observation<P, C extends string> {
  readonly process: string;
  /** The newest answer; undefined until there is one. */
  readonly answer: ProgressAnswer<P> | undefined;
  /** When that answer was asked for. */
  readonly askedMs: number;
  /** Since when it has not answered; undefined while it does. */
  readonly unreachable: (Omit<Unreachable, 'kind'> & { readonly sinceMs: number }) | undefined;
  readonly command: CommandState<C> | undefined;
}

/** A process that has not answered for this time is reported as unreachable: before, it is a passing matter. */
export const unreachableGraceMs = 5_000;

/** Whether what was answered last still counts. */
export function isCurrent(
  { answer, unreachable }: Pick<Observation<unknown, string>, 'answer' | 'unreachable'>,
  nowMs: number,
): boolean {
  if (!answer) return false;
  return !unreachable || graceLeftMs({ answer, unreachable }, nowMs) !== undefined;
}

/** When a process that does not answer is to be reported as unreachable: time from now on, if it is still to come. */
export function graceLeftMs(
  { answer, unreachable }: Pick<Observation<unknown, string>, 'answer' | 'unreachable'>,
  nowMs: number,
): number | undefined {
  if (!answer || !unreachable) return undefined;
  const leftMs = unreachable.sinceMs + unreachableGraceMs - nowMs;
  return leftMs > 0 ? leftMs : undefined;
}

/**
 * Whether a command that the last answer calls for should be sent now: not while one is under way, not before the
 * process was asked again after it took the command, and not too soon after it refused it.
 */
export function maySend<C extends string>(
  { command, askedMs, unreachable }: Observation<unknown, C>,
  name: C,
  nowMs: number,
): boolean {
  if (unreachable) return false;
  if (!command) return true;
  switch (command.kind) {
    case 'sending':
      return false;
    case 'taken':
      return command.name !== name || askedMs > command.endedMs;
    case 'refused':
      return command.name !== name || nowMs >= command.retryAtMs;
  }
}

/**
 * When something is to be decided on though nothing new was heard: times from now on, of a process that is to be reported
 * as unreachable, and of a refused command that may be repeated.
 */
export function dueMs(
  observation: Pick<Observation<unknown, string>, 'answer' | 'unreachable' | 'command'>,
  nowMs: number,
): number[] {
  const { command } = observation;
  const retryMs = command?.kind === 'refused' ? command.retryAtMs - nowMs : 0;
  return [graceLeftMs(observation, nowMs) ?? 0, retryMs].filter((ms) => ms > 0);
}

/** When a refused command is sent again: soon where the refusal should pass, seldom where somebody must act first. */
export function retryDelayMs(error: Pick<ApiError, 'isLasting'>, attempts: number): number {
  return error.isLasting
    ? backoffMs(attempts, { baseMs: 10_000, maxMs: 300_000 })
    : backoffMs(attempts, { baseMs: 1_000, maxMs: 30_000 });
}
