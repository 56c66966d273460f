import { errorTable, type ErrorName } from '../../service/error-table.ts';
import { messageOf } from '../../service/errors.ts';
import { redact } from '../../service/redact.ts';
import { Deadline } from '../kube/deadline.ts';

/** Where an operand's HTTP API is. */
export interface ApiTarget {
  readonly baseUrl: string;
  readonly token: string;
}

/** A request to an operand. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object;
  readonly deadlineMs: number;
}

/** What came back: `body` is undefined where it is no JSON. */
export type ApiAnswer =
  | { readonly kind: 'answer'; readonly status: number; readonly body: unknown }
  | { readonly kind: 'unreachable'; readonly description: string };

/** An error that an operand has answered. */
export interface ApiError {
  /** CamelCase: one of the table of errors, or whatever another tool calls it. */
  readonly name: string;
  readonly description: string;
  /** Whether it stays until somebody does something. */
  readonly isLasting: boolean;
}

/** It goes into a status: larger ones would not fit into an object. */
const maxAnswerBytes = 256 * 1024;

/** The base address of a pod's API. */
export function baseUrlOf(ip: string, port: number): string {
  return `http://${ip.includes(':') ? `[${ip}]` : ip}:${port}`;
}

/** Calls an operand. Rejects only with the signal's reason; whatever else goes wrong is an answer. */
export async function callApi(
  { baseUrl, token }: ApiTarget,
  { method, path, body, deadlineMs }: ApiRequest,
  signal: AbortSignal,
): Promise<ApiAnswer> {
  using deadline = new Deadline(signal, deadlineMs);
  try {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      redirect: 'error',
      signal: deadline.signal,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await readText(response);
    return { kind: 'answer', status: response.status, body: parsed(text) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return {
      kind: 'unreachable',
      description: deadline.isExpired
        ? `no answer within ${deadlineMs} ms`
        : `no answer: ${rootMessage(error)}`,
    };
  }
}

/**
 * The error in an answer's body, if there is one: `{error: "Name: description"}`, or the name and `errorDescription`.
 * @param isLasting - of errors that the table does not know.
 */
export function errorIn(body: unknown, isLasting: boolean): ApiError | undefined {
  const text = stringIn(body, 'error');
  if (text === undefined) return undefined;
  const described = stringIn(body, 'errorDescription');
  const [, name, rest] = /^([A-Z][A-Za-z0-9]{1,62})(?::\s*(.*))?$/s.exec(text) ?? [];
  const error = {
    name: name ?? 'ErrorReported',
    description: redact(described ?? (name === undefined ? text : (rest ?? ''))),
  };
  return { ...error, isLasting: lasts(error.name) ?? isLasting };
}

/** What a person can do about an error that the table knows. */
export function actionFor(name: string): string | undefined {
  return isKnown(name) ? errorTable[name].action : undefined;
}

/** The reason of the conditions that report an error: the table's; the error's own name where the table has none. */
export function reasonFor(name: string): string {
  return isKnown(name) ? errorTable[name].reason : name;
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

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const body = response.body as AsyncIterable<Uint8Array> | null;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > maxAnswerBytes) throw new Error(`it is larger than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** fetch wraps what has happened in "fetch failed". */
function rootMessage(error: unknown): string {
  let root = error;
  while (root instanceof Error && root.cause instanceof Error) root = root.cause;
  return messageOf(root);
}
