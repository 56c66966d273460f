import {
  sendRequest,
  UntrustedServerError,
  type HttpAnswer,
  type ServerTrust,
} from '../service/http-request.ts';
import { jsonValue } from '../service/json-text.ts';
import { deploymentHeader, destinationHeader, optionsDigestHeader } from './headers.ts';

/** Where the HTTP API of a syncer or a verifier is. */
export interface ApiTarget {
  /** `http://<host>:<port>`, or by HTTPS. */
  readonly baseUrl: string;
  /** Undefined if the API requires none. */
  readonly token: string | undefined;
  /** For HTTPS; undefined to trust the authorities of the system. */
  readonly trust: ServerTrust | undefined;
}

/** A request to the API. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  /** `/api/v1/...`, with a query if there is one. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: object | undefined;
  /** In addition to those of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A longer answer is not accepted. */
  readonly maxAnswerBytes: number;
  /** Called once connected: nothing is sent if it throws. */
  readonly assertMaySend?: (() => void) | undefined;
}

/** An answer with any status. */
export interface ApiAnswer {
  readonly kind: 'answer';
  readonly status: number;
  /** Undefined if it is not JSON, or has too many levels. */
  readonly body: unknown;
  /** Of the sync that the answer is about; undefined if it does not say. */
  readonly optionsDigest: string | undefined;
  /** The value of {@link destinationHeader}; undefined if it is absent. */
  readonly destination: string | undefined;
  /** The value of {@link deploymentHeader}; undefined if it is absent. */
  readonly deployment: string | undefined;
}

/** Why there is no answer: a command may have been accepted all the same, except for `untrusted`, where nothing was sent. */
export interface NoAnswer {
  readonly kind: 'unreachable' | 'untrusted';
  readonly error: unknown;
}

/** Sends a request to the API of a syncer or a verifier. Never rejects: an aborted signal results in `unreachable`, too. */
export async function callApi(
  { baseUrl, token, trust }: ApiTarget,
  { method, path, body, headers, maxAnswerBytes, assertMaySend }: ApiRequest,
  signal: AbortSignal,
): Promise<ApiAnswer | NoAnswer> {
  let answer: HttpAnswer;
  try {
    answer = await sendRequest(
      {
        method,
        url: `${baseUrl}${path}`,
        headers: {
          ...headers,
          ...(token !== undefined && { Authorization: `Bearer ${token}` }),
          'Content-Type': 'application/json',
        },
        body: body && JSON.stringify(body),
        trust,
        maxAnswerBytes,
        assertMaySend,
      },
      signal,
    );
  } catch (error) {
    return { kind: error instanceof UntrustedServerError ? 'untrusted' : 'unreachable', error };
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
    deployment: textOf(deploymentHeader),
  };
}
