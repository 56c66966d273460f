import { errorTable, type ErrorName } from '../../service/error-table.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import type { ServerTrust } from '../../service/http-request.ts';
import { answeredError, type AnsweredError } from '../../sync-api/answer-error.ts';
import type { CommandAnswer } from '../../sync-api/command-answer.ts';
import { callApi, type ApiAnswer, type ApiRequest } from '../../sync-api/http-client.ts';

const readDeadlineMs = 10_000;

/** A pause, a resume and a start wait for the clusters. */
const commandDeadlineMs = 180_000;

/** A page of a report is the longest answer. */
const maxAnswerBytes = 64 * 1024 * 1024;

/** The address of an API. */
export interface ApiAddress {
  /** `http://<host>:<port>`. Undefined while there is none: the program is starting. */
  readonly url: string | undefined;
  readonly apiToken: string | undefined;
  /** For HTTPS; the system's authorities if absent. */
  readonly trust?: ServerTrust | undefined;
}

/** A command, and how to read its answer. */
export interface ApiCommand {
  /** As in the path. */
  readonly name: string;
  readonly body: object;
  /** In addition to those that every request has. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly read: (answer: ApiAnswer) => CommandAnswer;
}

/**
 * Calls the HTTP API of a syncer or a verifier. Every call rejects with a SyncError: that of the answer, or ToolUnreachable
 * if there is no readable answer.
 */
export class ApiClient {
  readonly #address: () => ApiAddress;

  /** @param address - called before each request: a restarted program has another port. */
  constructor(address: () => ApiAddress) {
    this.#address = address;
  }

  /** @param read - returns undefined for a body that does not answer this request. */
  async get<T>(
    path: string,
    read: (body: unknown) => T | undefined,
    signal: AbortSignal,
  ): Promise<T> {
    return this.read(await this.ask(path, signal), read);
  }

  /** What is answered to a question with a body. @param read - as that of `get`. */
  async post<T>(
    path: string,
    body: object,
    read: (body: unknown) => T | undefined,
    signal: AbortSignal,
  ): Promise<T> {
    const request = { method: 'POST', path: `/api/v1/${path}`, body } as const;
    return this.read(await this.#call(request, commandDeadlineMs, signal), read);
  }

  /** The answer to a request, whatever it says. */
  async ask(path: string, signal: AbortSignal): Promise<ApiAnswer> {
    return await this.#call({ method: 'GET', path: `/api/v1/${path}` }, readDeadlineMs, signal);
  }

  /** The content of an answer. @throws SyncError as all calls do. */
  read<T>({ body, status }: ApiAnswer, read: (body: unknown) => T | undefined): T {
    const value = read(body);
    if (value !== undefined) return value;
    const error = answeredError(body);
    throw error ? errorOf(error) : this.#unreadable(`HTTP ${status}`);
  }

  /** Sends a command; resolves once it is accepted. */
  async command({ name, body, headers, read }: ApiCommand, signal: AbortSignal): Promise<void> {
    const request = { method: 'POST', path: `/api/v1/${name}`, body, headers } as const;
    const answer = read(await this.#call(request, commandDeadlineMs, signal));
    switch (answer.kind) {
      case 'taken':
        return;
      case 'refused':
        throw errorOf(answer.error);
      case 'unclear':
        throw this.#unreadable(answer.description);
    }
  }

  async #call(
    request: Omit<ApiRequest, 'maxAnswerBytes'>,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<ApiAnswer> {
    const { url, apiToken, trust } = this.#address();
    if (url === undefined) throw new SyncError('ToolUnreachable', 'it is starting');
    const target = { baseUrl: url, token: apiToken, trust };
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
    const answer = await callApi(target, { ...request, maxAnswerBytes }, deadline);
    if (answer.kind === 'answer') return answer;
    signal.throwIfAborted();
    const cause = { cause: answer.error };
    if (answer.kind === 'unreachable')
      throw new SyncError('ToolUnreachable', `nothing answers at ${url}`, cause);
    const description = `the certificate of ${url} is refused: ${messageOf(answer.error)}`;
    throw new SyncError('CertificateNotTrusted', description, cause);
  }

  #unreadable(what: string): SyncError {
    const { url = '' } = this.#address();
    return new SyncError('ToolUnreachable', `the server at ${url} is not clustersync: ${what}`);
  }
}

/** A program's error answer, as a SyncError. */
export function errorOf({ name, description }: AnsweredError): SyncError {
  if (name !== undefined && isErrorName(name)) return new SyncError(name, description);
  return new SyncError(
    'InternalError',
    name === undefined ? description : `${name}: ${description}`,
  );
}

function isErrorName(name: string): name is ErrorName {
  return Object.hasOwn(errorTable, name);
}
