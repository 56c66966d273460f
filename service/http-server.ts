import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import Koa from 'koa';
import type { Registry } from 'prom-client';
import { requireToken } from './api-token.ts';
import { refuseOtherNames, refuseOtherOrigins } from './browser-guard.ts';
import type { ErrorName } from './error-table.ts';
import { SyncError, toSyncError } from './errors.ts';
import { readJson } from './json-body.ts';
import { JsonLines, linesBody } from './json-lines.ts';
import { closeServer, listen, requestLimits } from './listening.ts';
import { logOnce } from './log-once.ts';
import type { Logger } from './logger.ts';
import { requestsInTurn } from './requests-in-turn.ts';
import { followCertificate, readCertificate, type CertificateFiles } from './served-certificate.ts';
import { readUnread } from './unread-body.ts';

/** When a client should retry after a 503: `Retry-After`. */
const retryAfterSeconds = 2;

/** What every server answers to GET in addition to its routes, as text and without a token. */
export const probePaths = ['/healthz', '/readyz', '/metrics'] as const;

/** The sender of a request. */
export interface Caller {
  /** With names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** Aborted when the connection is closed before the answer is sent. */
  readonly gone: AbortSignal;
}

/** One endpoint of a JSON API. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /**
   * Returns the JSON body of a 200, or its lines (`JsonLines`). `body` is the parsed JSON object of a POST, undefined for a GET; `query` is the part after
   * the question mark.
   */
  readonly handle: (
    body: unknown,
    query: URLSearchParams,
    caller: Caller,
  ) => Promise<object> | object;
  /** The JSON body of an answer that carries an error. */
  readonly errorBody: (error: SyncError) => object;
  /** Headers of the answer, including error answers. */
  readonly answerHeaders?: () => Readonly<Record<string, string>>;
}

/** What an HTTP server serves in addition to its routes. */
export interface HttpServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly routes: readonly Route[];
  readonly logger: Logger;
  /** Served as text at /metrics. */
  readonly metrics: Registry;
  /** Whether /readyz answers 200. */
  readonly isReady: () => boolean;
  /** Why it does not: part of its answer, which anybody may read. */
  readonly whyNotReady?: () => string | undefined;
  /** If false, /healthz answers 503, so that the process is restarted. Without it, any answer counts as healthy. */
  readonly isAlive?: () => boolean;
  /**
   * SHA-256 of a token, in hexadecimal digits. If given, every route needs `Authorization: Bearer <token>`; health and metrics
   * do not.
   */
  readonly apiTokenHash?: string | undefined;
  /** If given, everything is served by HTTPS, otherwise by HTTP. Replaced files apply to new connections. */
  readonly certificate?: CertificateFiles | undefined;
}

/** A listening HTTP server. Disposing of it closes the server and its connections. */
export interface HttpServer extends AsyncDisposable {
  readonly port: number;
}

/** The generic answer of the contract, part 2.1, to a request that failed. */
export function genericErrorBody(error: SyncError): {
  readonly success: false;
  readonly error: ErrorName;
  readonly errorDescription: string;
} {
  return { success: false, error: error.name, errorDescription: error.message };
}

/** The answer of the contract, part 2.2, to a progress call that failed. */
export function progressErrorBody(error: SyncError): { readonly error: string } {
  return { error: `${error.name}: ${error.message}` };
}

/**
 * Answers a request whose line has no path, but a URI as for a proxy, or something else: koa takes parts of it for the path, or
 * fails. Must come before everything that reads the path.
 */
export async function requirePath(ctx: Koa.Context, next: Koa.Next): Promise<void> {
  if (ctx.req.url?.startsWith('/') === true) {
    await next();
    return;
  }
  const error = new SyncError('InvalidRequestTarget', 'the request line has no path');
  ctx.status = error.row.status;
  ctx.body = genericErrorBody(error);
}

/**
 * Starts an HTTP server with a JSON API, /healthz, /readyz and /metrics. Resolves when it listens.
 * @throws SyncError InvalidOption if it cannot listen, or its certificate cannot be used.
 */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const app = new Koa();
  app.on('error', (error: unknown) => {
    if (isClientGone(error)) return;
    options.logger.warn({ err: error }, 'HTTP answer failed');
  });
  app.use(readUnread);
  app.use(requirePath);
  app.use(serveHealth(options));
  app.use(serveRoutes(options));
  const handle = app.callback();
  const stop = new AbortController();
  const listener = requestsInTurn((request, response) => {
    void handle(request, response);
  });
  const { server, following } = createServerFor(options, listener, stop.signal);
  let port: number;
  try {
    port = await listen(server, options);
  } catch (error) {
    stop.abort();
    throw error;
  }
  options.logger.info(
    { host: options.host, port, ...(options.certificate && { scheme: 'https' }) },
    'listening',
  );
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      await closeServer(server, async () => {
        stop.abort();
        await following;
      });
    },
  };
}

/** Whether a client has closed its connection before it had the whole answer, which is its own business. */
function isClientGone(error: unknown): boolean {
  const codes: readonly unknown[] = ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'];
  return error instanceof Error && 'code' in error && codes.includes(error.code);
}

function createServerFor(
  { certificate: files, logger }: HttpServerOptions,
  listener: RequestListener,
  signal: AbortSignal,
): { readonly server: Server; readonly following: Promise<void> } {
  if (!files)
    return { server: createServer(requestLimits, listener), following: Promise.resolve() };
  const served = readCertificate(files);
  const handshakeTimeout = requestLimits.headersTimeout;
  const server = createSecureServer({ ...requestLimits, handshakeTimeout, ...served }, listener);
  return { server, following: followCertificate({ server, files, served }, logger, signal) };
}

function serveHealth(options: HttpServerOptions): Koa.Middleware {
  return async (ctx, next) => {
    const path = probePaths.find((each) => each === ctx.path);
    if (path !== undefined && ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      answerError(ctx, methodNotAllowed(ctx, 'GET, HEAD'), genericErrorBody);
      return;
    }
    switch (path) {
      case '/healthz':
        answerProbe(ctx, options.isAlive?.() ?? true, 'not alive');
        return;
      case '/readyz':
        answerProbe(ctx, options.isReady(), unreadiness(options));
        return;
      case '/metrics':
        ctx.type = options.metrics.contentType;
        ctx.body = await options.metrics.metrics();
        return;
      case undefined:
        await next();
    }
  };
}

function unreadiness({ whyNotReady }: HttpServerOptions): string {
  const reason = whyNotReady?.();
  return reason === undefined ? 'not ready' : `not ready: ${reason}`;
}

function answerProbe(ctx: Koa.Context, isGood: boolean, otherwise: string): void {
  ctx.status = isGood ? 200 : 503;
  ctx.body = `${isGood ? 'ok' : otherwise}\n`;
}

function serveRoutes({ routes, apiTokenHash, logger }: HttpServerOptions): Koa.Middleware {
  return async (ctx) => {
    const here = routes.filter((route) => route.path === ctx.path);
    const route = here.find(({ method }) => method === ctx.method);
    const errorBody = (route ?? here[0])?.errorBody ?? genericErrorBody;
    try {
      if (here.length === 0) throw new SyncError('NotFound', 'nothing exists at this path');
      if (!route) throw methodNotAllowed(ctx, here.map(({ method }) => method).join(', '));
      if (apiTokenHash === undefined) refuseOtherNames(ctx);
      requireToken(ctx.get('Authorization'), apiTokenHash);
      refuseOtherOrigins(ctx);
      const body = route.method === 'POST' ? await readJson(ctx) : undefined;
      ctx.set({ ...route.answerHeaders?.() });
      const caller = { headers: ctx.headers, gone: goneOf(ctx) };
      // Not from ctx.URL, which is missing if the Host is invalid.
      const query = new URLSearchParams(ctx.querystring);
      const answer = await route.handle(body, query, caller);
      if (answer instanceof JsonLines) await answerLines(ctx, answer);
      else ctx.body = answer;
    } catch (thrown) {
      const error = toSyncError(thrown);
      if (error.name === 'InternalError')
        logOnce(logger, error, { err: thrown, path: ctx.path }, 'request failed');
      if (error.name === 'Unauthorized') ctx.set('WWW-Authenticate', 'Bearer');
      answerError(ctx, error, errorBody);
    }
  };
}

async function answerLines(ctx: Koa.Context, lines: JsonLines): Promise<void> {
  const body = await linesBody(lines);
  // Proxies must pass lines on as they come.
  ctx.set({ 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' });
  ctx.type = 'application/x-ndjson';
  ctx.body = body;
}

function methodNotAllowed(ctx: Koa.Context, allowed: string): SyncError {
  ctx.set('Allow', allowed);
  return new SyncError('MethodNotAllowed', `this path takes ${allowed}`);
}

function answerError(ctx: Koa.Context, error: SyncError, bodyOf: Route['errorBody']): void {
  ctx.status = error.row.status;
  if (ctx.status === 503) ctx.set('Retry-After', String(retryAfterSeconds));
  ctx.body = bodyOf(error);
}

function goneOf({ res }: Koa.Context): AbortSignal {
  const gone = new AbortController();
  res.once('close', () => {
    if (!res.writableFinished) gone.abort(new Error('the client has closed its connection'));
  });
  return gone.signal;
}
