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
  /** Undefined where the API asks for none. */
  readonly token: string | undefined;
  /** Of HTTPS; with undefined the authorities of the system count. */
  readonly trust: ServerTrust | undefined;
}

/** A request to the API. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  /** `/api/v1/...`, with what follows a question mark. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: object | undefined;
  /** Beside those that every request has. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A longer answer is none. */
  readonly maxAnswerBytes: number;
  /** Called when the connection is there: nothing is sent if it throws. */
  readonly assertMaySend?: (() => void) | undefined;
}

/** What came back, whatever its status. */
export interface ApiAnswer {
  readonly kind: 'answer';
  readonly status: number;
  /** Undefined where it is no JSON, or has too many levels. */
  readonly body: unknown;
  /** Of the sync that the answer is about; undefined where it does not say. */
  readonly optionsDigest: string | undefined;
  /** As of {@link destinationHeader}; undefined where it does not say. */
  readonly destination: string | undefined;
  /** As of {@link deploymentHeader}; undefined where it does not say. */
  readonly deployment: string | undefined;
}

/** Why there is no answer: of a command, it may have been taken all the same, but for `untrusted`, where nothing was sent. */
export interface NoAnswer {
  readonly kind: 'unreachable' | 'untrusted';
  readonly error: unknown;
}

/** Sends a request to the API of a syncer or a verifier. Never rejects: that the signal was aborted is an `unreachable`, too. */
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
