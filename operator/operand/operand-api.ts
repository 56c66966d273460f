import {
  callApi,
  errorIn,
  isNotServed,
  propertyIn,
  type ApiAnswer,
  type ApiError,
  type Unreachable,
} from './http-api.ts';
import type { CommandOutcome, OperandApi } from './monitor.ts';
import type { ProgressAnswer } from './observation.ts';

const progressDeadlineMs = 5_000;
/** It tells whether a command was taken, and why not. Commands are sent without waiting for a turn, and may take long. */
const maxCommandAnswerBytes = 16 * 1024;

/** What tells the API of one kind of operand from that of another. */
export interface OperandApiOptions<P> {
  /** The object `progress` of an answer, read leniently; undefined where it is none. */
  readonly readProgress: (progress: unknown) => P | undefined;
  readonly commandDeadlineMs: number;
  /** What an answer to a command means. */
  readonly outcomeOf: (answer: Extract<ApiAnswer, { readonly kind: 'answer' }>) => CommandOutcome;
  /** The name of the error that a command was not answered. */
  readonly unreachableName: string;
  readonly intervalMs: (answer: ProgressAnswer<P> | undefined) => number;
}

/** The HTTP API of a kind of operand: GET /api/v1/progress, and a POST for each command. */
export function operandApi<P, C extends string>(options: OperandApiOptions<P>): OperandApi<P, C> {
  const { readProgress, commandDeadlineMs, outcomeOf, unreachableName, intervalMs } = options;
  return {
    intervalMs,
    askProgress: async (target, signal) => {
      const answer = await callApi(
        target,
        { method: 'GET', path: '/api/v1/progress', deadlineMs: progressDeadlineMs },
        signal,
      );
      return answer.kind === 'answer' ? progressAnswer(answer, readProgress) : answer;
    },
    sendCommand: async (target, { name, body, headers }, { assertMaySend, signal }) => {
      const answer = await callApi(
        target,
        {
          method: 'POST',
          path: `/api/v1/${name}`,
          body,
          ...(headers && { headers }),
          deadlineMs: commandDeadlineMs,
          maxAnswerBytes: maxCommandAnswerBytes,
          assertMaySend,
        },
        signal,
      );
      if (answer.kind === 'unreachable') return unanswered(unreachableName, answer.description);
      return isUnknown(answer) ? notSupported(answer.status) : outcomeOf(answer);
    },
  };
}

/** What counts as a refusal that should pass by itself, though nobody knows what has become of the command. */
export function unanswered(name: string, description: string): CommandOutcome {
  return { kind: 'refused', error: { name, description, isLasting: false, isUnanswered: true } };
}

/** Whether the tool does not have the command at all: an error of ours has a body that says so. */
function isUnknown({ status, body }: Extract<ApiAnswer, { readonly kind: 'answer' }>): boolean {
  return isNotServed(status) && errorIn(body, true) === undefined;
}

function notSupported(status: number): CommandOutcome {
  const description = `HTTP ${status}: this tool does not have the command`;
  return { kind: 'refused', error: { name: 'CommandNotSupported', description, isLasting: true } };
}

/** What an answer to a progress call says. */
export function progressAnswer<P>(
  {
    body,
    optionsDigest,
    destination,
  }: Pick<Extract<ApiAnswer, { kind: 'answer' }>, 'body'> &
    Pick<ProgressAnswer<P>, 'destination'> & { readonly optionsDigest: string | undefined },
  readProgress: (progress: unknown) => P | undefined,
): ProgressAnswer<P> | Unreachable {
  const progress = readProgress(propertyIn(body, 'progress'));
  if (progress) return { kind: 'progress', progress, destination };
  // A call that fails while a sync is resumed may be repeated: errors that are not known are not taken for the end.
  const error: ApiError | undefined = errorIn(body, false);
  if (error) return { kind: 'error', error, optionsDigest, destination };
  return { kind: 'unreachable', description: 'the answer has neither progress nor error' };
}
