import { backoffMs } from '../../service/sleep.ts';
import type { ApiError, Unreachable } from './http-api.ts';

/** An operand's answer to a progress request. */
export type ProgressAnswer<P> = {
  /** Where the process has logged in, see `destinationHeader`; undefined if the tool does not say, or does not know yet. */
  readonly destination?: string | undefined;
  /** Which deployment that is, see `deploymentHeader`; undefined if the tool does not say. */
  readonly deployment?: string | undefined;
} & (
  | { readonly kind: 'progress'; readonly progress: P }
  | {
      readonly kind: 'error';
      readonly error: ApiError;
      /** Of the sync that has failed; undefined if the tool does not say, or there is none. */
      readonly optionsDigest?: string | undefined;
    }
);

/** The state of the last command; `request` as in the command. Times are milliseconds since 1970. */
export type CommandState<C extends string> = { readonly name: C; readonly request?: string } & (
  | { readonly kind: 'sending' }
  | { readonly kind: 'taken'; readonly endedMs: number }
  | {
      readonly kind: 'refused';
      readonly error: ApiError;
      /** Consecutive refusals. */
      readonly attempts: number;
      /** Also set if there was no answer at all: then the command may have been accepted. */
      readonly endedMs: number;
      readonly retryAtMs: number;
    }
);

/** What is known about one process of an operand. Times are milliseconds since 1970. */
export interface Observation<P, C extends string> {
  readonly process: string;
  /** The newest answer; undefined until there is one. */
  readonly answer: ProgressAnswer<P> | undefined;
  /** When that answer was requested. */
  readonly askedMs: number;
  /** Since when it has not answered; undefined while it does. */
  readonly unreachable: (Omit<Unreachable, 'kind'> & { readonly sinceMs: number }) | undefined;
  readonly command: CommandState<C> | undefined;
  /** What became last of each other command, which was sent before. */
  readonly formerCommands?: readonly CommandState<C>[];
}

/** What is known of an operand's commands. */
type KnownCommands<C extends string> = Pick<Observation<unknown, C>, 'command' | 'formerCommands'>;

/** What became last of a command, whichever was sent since; undefined if this process was sent none. */
export function lastOf<C extends string>(
  { command, formerCommands = [] }: KnownCommands<C>,
  name: C,
): CommandState<C> | undefined {
  return command?.name === name ? command : formerCommands.find((former) => former.name === name);
}

/** What becomes of the previous commands once this one is sent. */
export function formerOnce<C extends string>(
  { command, formerCommands = [] }: KnownCommands<C>,
  name: C,
): readonly CommandState<C>[] {
  return [...(command ? [command] : []), ...formerCommands].filter((one) => one.name !== name);
}

/** A process that has not answered for this time is reported as unreachable; until then it may be a passing problem. */
export const unreachableGraceMs = 5_000;

/** Whether the last answer still counts. */
export function isCurrent(
  { answer, unreachable }: Pick<Observation<unknown, string>, 'answer' | 'unreachable'>,
  nowMs: number,
): boolean {
  if (!answer) return false;
  return !unreachable || graceLeftMs({ answer, unreachable }, nowMs) !== undefined;
}

/** When to report a silent process as unreachable: time from now on, if that is still to come. */
export function graceLeftMs(
  { answer, unreachable }: Pick<Observation<unknown, string>, 'answer' | 'unreachable'>,
  nowMs: number,
): number | undefined {
  if (!answer || !unreachable) return undefined;
  const leftMs = unreachable.sinceMs + unreachableGraceMs - nowMs;
  return leftMs > 0 ? leftMs : undefined;
}

/**
 * Whether to send now a command that the last answer calls for: not while one is under way, not before the process
 * was asked again after it accepted the command, and not too soon after it refused it, unless it accepted another one since.
 */
export function maySend<C extends string>(
  observation: Observation<unknown, C>,
  name: C,
  nowMs: number,
  request?: string,
): boolean {
  const { command, askedMs, unreachable } = observation;
  if (unreachable || command?.kind === 'sending') return false;
  const last = lastOf(observation, name);
  if (last?.request !== request) return true;
  switch (last?.kind) {
    case undefined:
    case 'sending':
      return true;
    case 'taken':
      return askedMs > last.endedMs;
    case 'refused':
      return command?.kind === 'taken' || nowMs >= last.retryAtMs;
  }
}

/**
 * When to decide again even without news: times from now on, for a process that is to be reported as unreachable,
 * and for a refused command that may be repeated.
 */
export function dueMs(
  observation: Pick<Observation<unknown, string>, 'answer' | 'unreachable'> & KnownCommands<string>,
  nowMs: number,
): number[] {
  const { command, formerCommands = [] } = observation;
  const retriesMs = [command, ...formerCommands].map((one) =>
    one?.kind === 'refused' ? one.retryAtMs - nowMs : 0,
  );
  return [graceLeftMs(observation, nowMs) ?? 0, ...retriesMs].filter((ms) => ms > 0);
}

/** When to repeat a refused command: soon if the refusal should pass, seldom if somebody must act first. */
export function retryDelayMs(error: Pick<ApiError, 'isLasting'>, attempts: number): number {
  return error.isLasting
    ? backoffMs(attempts, { baseMs: 10_000, maxMs: 300_000 })
    : backoffMs(attempts, { baseMs: 1_000, maxMs: 30_000 });
}
