import { destinationHeader } from '../../service/destination-header.ts';
import { errorTable, type ErrorName } from '../../service/error-table.ts';
import { messageOf } from '../../service/errors.ts';
import {
  sendRequest,
  UntrustedServerError,
  type HttpAnswer,
  type ServerTrust,
} from '../../service/http-request.ts';
import { jsonValue } from '../../service/json-text.ts';
import { optionsDigestHeader } from '../../service/options-digest.ts';
import { redact } from '../../service/redact.ts';
import { Deadline } from '../kube/deadline.ts';

/** Where an operand's HTTP API is. */
export interface ApiTarget {
  readonly baseUrl: string;
  readonly token: string;
  /** Of HTTPS; undefined with HTTP. */
  readonly trust: ServerTrust | undefined;
}

/** A request to an operand. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object;
  /** Beside those that every request has. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly deadlineMs: number;
  /** What is longer is no answer; 256 KiB by default. */
  readonly maxAnswerBytes?: number;
  /** Called when the connection is there: nothing is sent if it throws. */
  readonly assertMaySend?: () => void;
}

/** What came back: `body` is undefined where it is no JSON, or has too many levels. */
export type ApiAnswer =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body: unknown;
      /** Of the sync that the answer is about; undefined where it does not say. */
      readonly optionsDigest: string | undefined;
      /** As of {@link destinationHeader}; undefined where it does not say. */
      readonly destination: string | undefined;
    }
  | Unreachable;

/** Why there is no answer. */
export interface Unreachable {
  readonly kind: 'unreachable';
  readonly description: string;
  /** There may be an answer, but not from one who has shown that he is who he ought to be. */
  readonly isUntrusted?: true;
}

/** An error that an operand has answered. */
export interface ApiError {
  /** CamelCase: one of the table of errors, or whatever another tool calls it. */
  readonly name: string;
  readonly description: string;
  /** Whether it stays until somebody does something. */
  readonly isLasting: boolean;
  /** Of a command: nothing was answered that says what has become of it. It may have been taken, or may be still. */
  readonly isUnanswered?: true;
}

/** It goes into a status: larger ones would not fit into an object. */
const longestAnswerBytes = 256 * 1024;

/** The API of a pod. */
export function apiTargetAt(
  { ip, port }: { readonly ip: string; readonly port: number },
  token: string,
  trust: ServerTrust | undefined,
): ApiTarget {
  const host = ip.includes(':') ? `[${ip}]` : ip;
  return { baseUrl: `${trust ? 'https' : 'http'}://${host}:${port}`, token, trust };
}

/** Calls an operand. Rejects only with the signal's reason; whatever else goes wrong is an answer. */
export async function callApi(
  { baseUrl, token, trust }: ApiTarget,
  request: ApiRequest,
  signal: AbortSignal,
): Promise<ApiAnswer> {
  const { method, path, body, headers, deadlineMs, assertMaySend } = request;
  const { maxAnswerBytes = longestAnswerBytes } = request;
  using deadline = new Deadline(signal, deadlineMs);
  let answer: HttpAnswer;
  try {
    answer = await sendRequest(
      {
        method,
        url: `${baseUrl}${path}`,
        headers: {
          ...headers,
          Authorization: `Bearer ${token}`,
          'Content-Type': 'application/json',
        },
        body: body && JSON.stringify(body),
        trust,
        maxAnswerBytes,
        assertMaySend,
      },
      deadline.signal,
    );
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof UntrustedServerError) return untrusted(error, trust);
    return {
      kind: 'unreachable',
      description: deadline.isExpired
        ? `no answer within ${deadlineMs} ms`
        : `no answer: ${messageOf(error)}`,
    };
  }
  const textOf = (header: string): string | undefined => {
    const text = answer.headers[header.toLowerCase()];
    return typeof text === 'string' ? text : undefined;
  };
  return {
    kind: 'answer',
    status: answer.status,
    body: jsonValue(answer.text),
    optionsDigest: textOf(optionsDigestHeader),
    destination: textOf(destinationHeader),
  };
}

function untrusted(error: UntrustedServerError, trust: ServerTrust | undefined): Unreachable {
  return {
    kind: 'unreachable',
    description: `its certificate is refused (${error.message}): it must be for ${trust?.serverName ?? ''}, and signed by the authority in ca.crt of the Secret that tls.secretName names`,
    isUntrusted: true,
  };
}

/**
 * The error in an answer's body, if there is one: `{error: "Name: description"}`, or the name and `errorDescription`.
 * @param isLasting - of errors that the table does not know.
 */
export function errorIn(body: unknown, isLasting: boolean): ApiError | undefined {
  const text = stringIn(body, 'error');
  if (text === undefined) return undefined;
  const described = stringIn(body, 'errorDescription');
  const [, name, rest] = /^([A-Z][A-Za-z0-9]{1,62})(?::(.*))?$/s.exec(text) ?? [];
  const error = {
    name: name ?? 'ErrorReported',
    description: redact(described ?? (name === undefined ? text : (rest ?? '').trimStart())),
  };
  return { ...error, isLasting: lasts(error.name) ?? isLasting };
}

/** Whether a tool does not have what it was asked for, as far as the status of its answer says. */
export function isNotServed(status: number): boolean {
  return [404, 405, 501].includes(status);
}

/** What a person can do about an error that the table knows. */
export function actionFor(name: string): string | undefined {
  return isKnown(name) ? errorTable[name].action : undefined;
}

/** Names that the operator itself gives to what it meets. */
const ownNames: readonly string[] = [
  'CommandNotSupported',
  'NoVerdict',
  'SyncerUnreachable',
  'VerifierUnreachable',
];

/**
 * The reason of the conditions that report an error: the table's. What another tool calls its errors is for the message: reasons are
 * a closed set.
 */
export function reasonFor(name: string): string {
  if (isKnown(name)) return errorTable[name].reason;
  return ownNames.includes(name) ? name : 'ErrorReported';
}

/** The value of a property, when it is a text. */
export function stringIn(value: unknown, name: string): string | undefined {
  const property = propertyIn(value, name);
  return typeof property === 'string' ? property : undefined;
}

/** The value of a property of whatever came back. */
export function propertyIn(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function lasts(name: string): boolean | undefined {
  if (!isKnown(name)) return undefined;
  // The pod has another token than the Secret only until it is replaced.
  return name !== 'Unauthorized' && !errorTable[name].retryable;
}

function isKnown(name: string): name is ErrorName {
  return Object.hasOwn(errorTable, name);
}
