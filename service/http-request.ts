import {
  request as requestPlain,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { request as requestSecure } from 'node:https';
import { TLSSocket } from 'node:tls';
import { messageOf } from './errors.ts';
import { sendWhenConnected } from './send-when-connected.ts';

/** How to recognize a server whose certificate comes from its own authority. */
export interface ServerTrust {
  /** PEM certificates of the trusted authorities, instead of those of the system. */
  readonly authority?: string | undefined;
  /** The name that the certificate must be for, if it differs from that of the address. */
  readonly serverName?: string | undefined;
}

/** A request. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** For HTTPS. */
  readonly trust?: ServerTrust | undefined;
  /** A longer answer is an error. */
  readonly maxAnswerBytes: number;
  /** Called once connected: if it throws, nothing is sent, and that is the error. */
  readonly assertMaySend?: (() => void) | undefined;
}

/** An answer with any status; redirections are not followed. */
export interface HttpAnswer {
  readonly status: number;
  /** With names in lower case. */
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** The certificate of the server cannot be trusted: nothing has been sent. */
export class UntrustedServerError extends Error {}

/**
 * Sends a request and reads the answer. Connections are kept for a while. The certificate of a server is always verified.
 * @throws UntrustedServerError; any other failure as node:http throws it.
 */
export async function sendRequest(
  { method, url, headers, body, trust, maxAnswerBytes, assertMaySend }: HttpRequest,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const payload = body === undefined ? undefined : Buffer.from(body);
  const options = {
    method,
    signal,
    headers: { ...headers, ...(payload && { 'Content-Length': payload.length }) },
    ...(trust?.authority !== undefined && { ca: trust.authority }),
    ...(trust?.serverName !== undefined && { servername: trust.serverName }),
  };
  const answer = await exchange(new URL(url), options, payload, assertMaySend);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxAnswerBytes) {
      throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`);
    }
    chunks.push(chunk);
  }
  const { statusCode: status = 0, headers: answered } = answer;
  return { status, headers: answered, text: Buffer.concat(chunks).toString('utf8') };
}

async function exchange(
  url: URL,
  options: RequestOptions,
  payload: Buffer | undefined,
  assertMaySend: (() => void) | undefined,
): Promise<IncomingMessage> {
  return await new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestSecure : requestPlain;
    const outgoing = send(url, options, resolve);
    outgoing.on('error', (error) => {
      const { socket } = outgoing;
      const isUntrusted =
        socket instanceof TLSSocket && (socket.authorizationError as Error | null) !== null;
      reject(isUntrusted ? new UntrustedServerError(messageOf(error), { cause: error }) : error);
    });
    sendWhenConnected(outgoing, payload, assertMaySend);
  });
}
