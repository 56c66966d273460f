import { errorTable, type ErrorName } from '../../service/error-table.ts';
import { messageOf } from '../../service/errors.ts';
import type { ServerTrust } from '../../service/http-request.ts';
import { hostInUrl } from '../../service/listening.ts';
import { answeredError, type AnsweredError } from '../../sync-api/answer-error.ts';
import {
  callApi,
  type ApiAnswer,
  type ApiRequest,
  type ApiTarget,
} from '../../sync-api/http-client.ts';
import { Deadline } from '../kube/deadline.ts';

/** A request to an operand. */
export interface OperandRequest extends Omit<ApiRequest, 'maxAnswerBytes'> {
  readonly deadlineMs: number;
  /** Longer answers are rejected; 256 KiB by default. */
  readonly maxAnswerBytes?: number;
}

/** Why there is no answer. */
export interface Unreachable {
  readonly kind: 'unreachable';
  readonly description: string;
  /** There may be an answer, but not from an authenticated server. */
  readonly isUntrusted?: true;
}

/** An error that an operand has answered. */
export interface ApiError {
  /** CamelCase: a name from the table of errors, or another tool's own. */
  readonly name: string;
  readonly description: string;
  /** Whether it stays until somebody intervenes. */
  readonly isLasting: boolean;
  /** Of a command: no answer says what happened to it. It may have been accepted, or may still be. */
  readonly isUnanswered?: true;
}

/** Goes into a status: a larger one would not fit into an object. */
const longestAnswerBytes = 256 * 1024;

/** The API of a pod. */
export function apiTargetAt(
  { ip, port }: { readonly ip: string; readonly port: number },
  token: string,
  trust: ServerTrust | undefined,
): ApiTarget {
  return { baseUrl: `${trust ? 'https' : 'http'}://${hostInUrl(ip)}:${port}`, token, trust };
}

/** Calls an operand. Rejects only with the signal's reason; any other failure is an answer. */
export async function callOperand(
  target: ApiTarget,
  { deadlineMs, maxAnswerBytes = longestAnswerBytes, ...request }: OperandRequest,
  signal: AbortSignal,
): Promise<ApiAnswer | Unreachable> {
  using deadline = new Deadline(signal, deadlineMs);
  const answer = await callApi(target, { ...request, maxAnswerBytes }, deadline.signal);
  if (answer.kind === 'answer') return answer;
  if (signal.aborted) throw signal.reason;
  if (answer.kind === 'untrusted') return untrusted(answer.error, target.trust);
  return {
    kind: 'unreachable',
    description: deadline.isExpired
      ? `no answer within ${deadlineMs} ms`
      : `no answer: ${messageOf(answer.error)}`,
  };
}

function untrusted(error: unknown, trust: ServerTrust | undefined): Unreachable {
  return {
    kind: 'unreachable',
    description: `its certificate is refused (${messageOf(error)}): it must be valid for ${trust?.serverName ?? ''} and signed by the authority in ca.crt of the Secret in tls.secretName`,
    isUntrusted: true,
  };
}

/**
 * The error in an answer's body, if there is one.
 * @param isLasting - of errors that are not in the table.
 */
export function errorIn(body: unknown, isLasting: boolean): ApiError | undefined {
  const error = answeredError(body);
  return error && apiError(error, isLasting);
}

/** An error that was answered. @param isLasting - of errors that are not in the table. */
export function apiError(
  { name = 'ErrorReported', description }: AnsweredError,
  isLasting: boolean,
): ApiError {
  return { name, description, isLasting: lasts(name) ?? isLasting };
}

/** What a user can do about an error of the table. */
export function actionFor(name: string): string | undefined {
  return isKnown(name) ? errorTable[name].action : undefined;
}

/** Names that the operator itself gives to failures. */
const ownNames: readonly string[] = [
  'CommandNotSupported',
  'NoVerdict',
  'SyncerUnreachable',
  'VerifierUnreachable',
];

/**
 * The condition reason for an error: its name, if it is in the table. Another tool's error names go only into the message: reasons are a
 * closed set.
 */
export function reasonFor(name: string): string {
  if (isKnown(name)) return errorTable[name].reason;
  return ownNames.includes(name) ? name : 'ErrorReported';
}

function lasts(name: string): boolean | undefined {
  if (!isKnown(name)) return undefined;
  // The pod's token differs from the Secret's only until the pod is replaced.
  return name !== 'Unauthorized' && !errorTable[name].retryable;
}

function isKnown(name: string): name is ErrorName {
  return Object.hasOwn(errorTable, name);
}
