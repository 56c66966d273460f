import { objectOf } from '../../service/json-fields.ts';
import { isNotServed } from '../../sync-api/answer-error.ts';
import type { CommandAnswer } from '../../sync-api/command-answer.ts';
import type { ApiAnswer } from '../../sync-api/http-client.ts';
import { apiError, callOperand, errorIn, type Unreachable } from './http-api.ts';
import type { CommandOutcome, OperandApi } from './monitor.ts';
import type { ProgressAnswer } from './observation.ts';

const progressDeadlineMs = 5_000;
/** Its answer says whether a command was accepted, and why not. Commands are sent without waiting for a turn, and may take long. */
const maxCommandAnswerBytes = 16 * 1024;

/** How the API of one kind of operand differs from that of another. */
export interface OperandApiOptions<P> {
  /** The object `progress` of an answer, read leniently; undefined if it is not one. */
  readonly readProgress: (progress: unknown) => P | undefined;
  readonly commandDeadlineMs: number;
  /** What an answer says about a command. */
  readonly readCommand: (answer: ApiAnswer) => CommandAnswer;
  /** The result if the answer does not say whether the command was accepted. */
  readonly unclearOutcome: (description: string) => CommandOutcome;
  /** The name of the error for a command without an answer. */
  readonly unreachableName: string;
  readonly intervalMs: (answer: ProgressAnswer<P> | undefined) => number;
}

/** The HTTP API of a kind of operand: GET /api/v1/progress, and a POST for each command. */
export function operandApi<P, C extends string>(options: OperandApiOptions<P>): OperandApi<P, C> {
  const { readProgress, commandDeadlineMs, unreachableName, intervalMs } = options;
  return {
    intervalMs,
    askProgress: async (target, signal) => {
      const answer = await callOperand(
        target,
        { method: 'GET', path: '/api/v1/progress', deadlineMs: progressDeadlineMs },
        signal,
      );
      return answer.kind === 'answer' ? progressAnswer(answer, readProgress) : answer;
    },
    sendCommand: async (target, { name, body, headers }, { assertMaySend, signal }) => {
      const answer = await callOperand(
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
      return isUnknown(answer) ? notSupported(answer.status) : outcomeOf(answer, options);
    },
  };
}

function outcomeOf<P>(
  answer: ApiAnswer,
  { readCommand, unclearOutcome }: OperandApiOptions<P>,
): CommandOutcome {
  const read = readCommand(answer);
  switch (read.kind) {
    case 'taken':
      return read;
    case 'refused':
      return { kind: 'refused', error: apiError(read.error, true) };
    case 'unclear':
      return unclearOutcome(read.description);
  }
}

/** Counts as a refusal that should pass, although nobody knows what happened to the command. */
export function unanswered(name: string, description: string): CommandOutcome {
  return { kind: 'refused', error: { name, description, isLasting: false, isUnanswered: true } };
}

/** Whether the tool does not have the command at all: our own errors have a body that says so. */
function isUnknown({ status, body }: ApiAnswer): boolean {
  return isNotServed(status) && errorIn(body, true) === undefined;
}

function notSupported(status: number): CommandOutcome {
  const description = `HTTP ${status}: this tool does not support the command`;
  return { kind: 'refused', error: { name: 'CommandNotSupported', description, isLasting: true } };
}

/** What the answer to a progress request says. */
export function progressAnswer<P>(
  {
    body,
    optionsDigest,
    destination,
    deployment,
  }: Pick<ApiAnswer, 'body' | 'optionsDigest'> &
    Partial<Pick<ApiAnswer, 'destination' | 'deployment'>>,
  readProgress: (progress: unknown) => P | undefined,
): ProgressAnswer<P> | Unreachable {
  const progress = readProgress(objectOf(body)['progress']);
  if (progress) return { kind: 'progress', progress, destination, deployment };
  // A call that fails while a sync is resumed may be repeated: unknown errors are not treated as final.
  const error = errorIn(body, false);
  if (error) return { kind: 'error', error, optionsDigest, destination, deployment };
  return { kind: 'unreachable', description: 'the answer has neither progress nor error' };
}
