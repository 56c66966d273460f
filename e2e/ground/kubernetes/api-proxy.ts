import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ApiServer } from './api-server.ts';

/** A request on its way to the API server. */
export interface ApiRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** Empty for a GET. */
  readonly body: string;
}

/** An answer that the API server has not given. */
export interface ForgedAnswer {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

/** What becomes of a request. */
export type ApiEncounter =
  /** The API server does not get it; without an answer, the connection is closed. */
  | { readonly kind: 'kept'; readonly answer?: ForgedAnswer }
  /** The API server carries it out; then this is called. Without an answer, the connection is closed. */
  | { readonly kind: 'delivered'; readonly onAnswer: () => ForgedAnswer | undefined };

/** Stands between a client and an API server, under the certificate of that, and lets requests meet what a test decides. */
export class ApiProxy implements AsyncDisposable {
  /** Called for each request; undefined lets it pass. */
  judge: (request: ApiRequest) => ApiEncounter | undefined = () => undefined;
  /** How many answers clients were given that are not the API server's. */
  forged = 0;
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #targetPort: number;
  readonly #ca: Buffer;

  private constructor(server: Server, targetPort: number, ca: Buffer) {
    this.#server = server;
    this.#targetPort = targetPort;
    this.#ca = ca;
    server.on('request', (incoming, answer) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        this.#handle(incoming, Buffer.concat(chunks), answer);
      });
    });
  }

  static async start(target: ApiServer): Promise<ApiProxy> {
    const { cert, key } = await target.certificate();
    const server = createServer({ cert, key }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ApiProxy(server, target.port, cert);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server.close(), 'close');
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await closed;
  }

  #handle(incoming: IncomingMessage, body: Buffer, answer: ServerResponse): void {
    const { method = '', url = '' } = incoming;
    const encounter = this.judge({ method, path: url, body: body.toString() });
    if (encounter?.kind === 'kept') {
      this.#endWith(incoming, answer, encounter.answer);
      return;
    }
    const outgoing = request({
      ...{ host: '127.0.0.1', port: this.#targetPort, ca: this.#ca, agent: this.#agent },
      ...{ method, path: url, headers: incoming.headers },
    });
    outgoing.on('response', (response) => {
      if (encounter === undefined) {
        answer.writeHead(response.statusCode ?? 0, response.headers);
        response.pipe(answer);
        return;
      }
      response.resume().on('end', () => {
        this.#endWith(incoming, answer, encounter.onAnswer());
      });
    });
    outgoing.on('error', () => incoming.socket.destroy());
    // A watch ends with its client.
    answer.on('close', () => outgoing.destroy());
    outgoing.end(body);
  }

  #endWith(incoming: IncomingMessage, answer: ServerResponse, forged?: ForgedAnswer): void {
    if (forged === undefined) {
      incoming.socket.destroy();
      return;
    }
    const { code, reason, message, retryAfterSeconds } = forged;
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' };
    answer.writeHead(code, {
      'Content-Type': 'application/json',
      ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
    });
    answer.end(JSON.stringify({ ...status, reason, message, code }), () => (this.forged += 1));
  }
}
