import { errorTable, type ErrorName } from '../../service/error-table.ts';
import { SyncError } from '../../service/errors.ts';
import {
  sendRequest,
  UntrustedServerError,
  type HttpRequest,
  type ServerTrust,
} from '../../service/http-request.ts';
import { jsonValue } from '../../service/json-text.ts';
import { objectOf, textOf, type JsonObject } from './json-fields.ts';

const readDeadlineMs = 10_000;

/** A pause, a resume and a start wait for the clusters. */
const commandDeadlineMs = 180_000;

/** A page of a report is the longest. */
const maxAnswerBytes = 64 * 1024 * 1024;

/** Where an API is. */
export interface ApiAddress {
  /** `http://<host>:<port>`. Undefined while there is none: the program is being started. */
  readonly url: string | undefined;
  readonly apiToken: string | undefined;
  /** Of HTTPS; the authorities of the system when absent. */
  readonly trust?: ServerTrust | undefined;
}

/**
 * Calls the HTTP API of a syncer or a verifier. Every call rejects with a SyncError: that of the answer, or ToolUnreachable
 * where there is none.
 */
export class ApiClient {
  readonly #address: () => ApiAddress;

  /** @param address - asked for before each call: a program that is started again has another port. */
  constructor(address: () => ApiAddress) {
    this.#address = address;
  }

  async get(path: string, signal: AbortSignal): Promise<JsonObject> {
    return await this.#call(path, { method: 'GET' }, readDeadlineMs, signal);
  }

  /** @param headers - beside those that every request has. */
  async post(
    path: string,
    body: object,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<JsonObject> {
    const request = { method: 'POST', body: JSON.stringify(body), headers } as const;
    return await this.#call(path, request, commandDeadlineMs, signal);
  }

  async #call(
    path: string,
    { method, body, headers: own }: Pick<HttpRequest, 'method' | 'body'> & Partial<HttpRequest>,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const { url, apiToken, trust } = this.#address();
    if (url === undefined) throw new SyncError('ToolUnreachable', 'it is being started');
    const headers = {
      ...own,
      'Content-Type': 'application/json',
      ...(apiToken === undefined ? {} : { Authorization: `Bearer ${apiToken}` }),
    };
    let text: string;
    try {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
      const request = { method, url: `${url}/api/v1/${path}`, headers, body, trust };
      ({ text } = await sendRequest({ ...request, maxAnswerBytes }, deadline));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof UntrustedServerError) {
        const description = `the certificate of ${url} is refused: ${error.message}`;
        throw new SyncError('CertificateNotTrusted', description, { cause: error });
      }
      throw new SyncError('ToolUnreachable', `nothing answers at ${url}`, { cause: error });
    }
    const answer = jsonOf(text);
    if (answer === undefined)
      throw new SyncError('ToolUnreachable', `what answers at ${url} is not clustersync`);
    const error = errorIn(answer);
    if (error) throw error;
    return answer;
  }
}

function jsonOf(text: string): JsonObject | undefined {
  const value = jsonValue(text);
  return value === undefined ? undefined : objectOf(value);
}

/**
 * The error that an answer carries: in the form of commands (`error` and `errorDescription`), or in that of progress
 * (`<name>: <description>`). That writes are off already is none.
 */
export function errorIn(answer: JsonObject): SyncError | undefined {
  const error = textOf(answer['error']);
  if (error === null || error === 'writesOff already set') return undefined;
  const description = textOf(answer['errorDescription']);
  if (description !== null) return namedError(error, description);
  const [, name = '', rest = error] = /^(\w+): (.*)$/s.exec(error) ?? [];
  return namedError(name, rest);
}

function namedError(name: string, description: string): SyncError {
  return isErrorName(name)
    ? new SyncError(name, description)
    : new SyncError('InternalError', name === '' ? description : `${name}: ${description}`);
}

function isErrorName(name: string): name is ErrorName {
  return Object.hasOwn(errorTable, name);
}
