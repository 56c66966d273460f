import { createServer } from 'node:http';
import Koa from 'koa';
import { hashOfToken, requireToken } from '../../service/api-token.ts';
import { isLoopback, refuseOtherNames } from '../../service/browser-guard.ts';
import { SyncError, toSyncError } from '../../service/errors.ts';
import { genericErrorBody, requirePath } from '../../service/http-server.ts';
import { closeServer, listen, requestLimits } from '../../service/listening.ts';
import type { Logger } from '../../service/logger.ts';
import { requestsInTurn } from '../../service/requests-in-turn.ts';
import { readUnread } from '../../service/unread-body.ts';
import { Dashboard, type DashboardSource } from './dashboard.ts';
import { readPageFiles, type PageFiles } from './page-files.ts';

/** Where the dashboard listens, and who may see it. */
export interface DashboardOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Without one, it listens only on loopback addresses. */
  readonly token?: string | undefined;
  /** Address of a page of the documentation, with `{page}` for its path without the ending. Without one, nothing links there. */
  readonly docsUrl?: string | undefined;
  readonly source: DashboardSource;
  readonly logger: Logger;
}

/** A listening dashboard. Disposing of it ends everything under way. */
export interface DashboardServer extends AsyncDisposable {
  readonly port: number;
  /** Sends the current state to all open pages. Rejects only with the signal's reason. */
  readonly tellAll: (signal: AbortSignal) => Promise<void>;
}

/**
 * Serves the page and its data, read-only. The page itself contains no secrets: the token is required for
 * data.
 * @throws SyncError InvalidOption if it cannot listen, would show everything to everybody, or could not link the documentation.
 */
export async function startDashboard(options: DashboardOptions): Promise<DashboardServer> {
  const { host, token, docsUrl, source, logger } = options;
  if (token === undefined && !isLoopback(host)) {
    throw new SyncError(
      'InvalidOption',
      `the dashboard requires a token to listen on ${host}; without one it listens only on 127.0.0.1`,
    );
  }
  if (docsUrl !== undefined && !/^https?:\/\/[^\s#$]*\{page\}[^\s#$]*$/.test(docsUrl)) {
    throw new SyncError(
      'InvalidOption',
      'docsUrl is not an address with {page}, such as https://docs.example.com/{page}.html',
    );
  }
  const dashboard = new Dashboard(source, logger, { docsUrl: docsUrl ?? null });
  const stop = new AbortController();
  const app = new Koa();
  app.on('error', (error: unknown) => {
    logger.warn({ err: error }, 'HTTP answer failed');
  });
  const page = await readPageFiles();
  app.use(readUnread);
  app.use(requirePath);
  const tokenHash = token === undefined ? undefined : hashOfToken(token);
  app.use(answer({ dashboard, page, tokenHash, logger, signal: stop.signal }));
  const handle = app.callback();
  const listener = requestsInTurn((request, response) => {
    void handle(request, response);
  });
  const server = createServer(requestLimits, listener);
  const port = await listen(server, options);
  const running = dashboard.run(stop.signal);
  logger.info({ host, port }, 'dashboard listening');
  return {
    port,
    tellAll: async (signal) => {
      await dashboard.tellAll(signal);
    },
    [Symbol.asyncDispose]: async () => {
      await closeServer(server, async () => {
        stop.abort();
        await running;
      });
    },
  };
}

interface Site {
  readonly dashboard: Dashboard;
  readonly page: PageFiles;
  readonly tokenHash: string | undefined;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

function answer(site: Site): Koa.Middleware {
  const policy = [
    `default-src 'none'`,
    `script-src 'self' ${site.page.scriptHash}`,
    `style-src 'self'`,
    `img-src 'self'`,
    `connect-src 'self'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
    // No text becomes a script, even if the page would make one: it has no means to.
    `require-trusted-types-for 'script'`,
    `trusted-types 'none'`,
  ].join('; ');
  return async (ctx) => {
    ctx.set({
      'Content-Security-Policy': policy,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
    });
    try {
      if (ctx.method !== 'GET') {
        ctx.set('Allow', 'GET');
        throw new SyncError('MethodNotAllowed', 'the dashboard is read-only: use GET');
      }
      if (ctx.path.startsWith('/api/')) await answerData(ctx, site);
      else answerFile(ctx, site.page);
    } catch (thrown) {
      const error = toSyncError(thrown);
      if (site.signal.aborted) return;
      if (error.name === 'InternalError') {
        site.logger.error({ err: thrown, path: ctx.path }, 'request failed');
      }
      ctx.status = error.row.status;
      ctx.body = genericErrorBody(error);
    }
  };
}

function answerFile(ctx: Koa.Context, { files }: PageFiles): void {
  const file = files.get(ctx.path);
  if (!file) throw new SyncError('NotFound', 'nothing exists at this path');
  ctx.set('Cache-Control', 'no-cache');
  ctx.set('ETag', file.etag);
  ctx.status = 200;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  ctx.type = file.type;
  ctx.body = file.text;
}

async function answerData(ctx: Koa.Context, site: Site): Promise<void> {
  const { dashboard, tokenHash, signal } = site;
  if (tokenHash === undefined) refuseOtherNames(ctx);
  requireToken(ctx.get('Authorization'), tokenHash);
  ctx.set('Cache-Control', 'no-store');
  const found = findRoute(ctx.path);
  if (!found) throw new SyncError('NotFound', 'nothing exists at this path');
  const { route, key } = found;
  if (route.isStream) {
    if (route.of === 'all') dashboard.followAll(ctx.req, ctx.res);
    else dashboard.followOne(key, ctx.req, ctx.res);
    ctx.respond = false;
  } else ctx.body = route.of === 'all' ? dashboard.snapshot() : await dashboard.report(key, signal);
}

/** What a path of the dashboard's API returns: everything about one sync or all, once or continuously. */
export interface DataRoute {
  /** As in `/a/{b}`; `{b}` matches any text without a slash, percent-encoded. */
  readonly path: string;
  readonly of: 'all' | 'one';
  /** Server-sent events, without end. */
  readonly isStream: boolean;
}

/** All paths with data. Anything else under `/api/` does not exist, and the rest are files of the page. */
export const dataRoutes: readonly DataRoute[] = [
  { path: '/api/v1/syncs', of: 'all', isStream: false },
  { path: '/api/v1/syncs/stream', of: 'all', isStream: true },
  { path: '/api/v1/syncs/{namespace}/{name}', of: 'one', isStream: false },
  { path: '/api/v1/syncs/{namespace}/{name}/stream', of: 'one', isStream: true },
];

/** A route, and the sync named by the path; empty if it names none. */
export interface FoundRoute {
  readonly route: DataRoute;
  /** `namespace/name` */
  readonly key: string;
}

/** The route of a path; undefined if there is none, or if its encoding is invalid. */
export function findRoute(path: string): FoundRoute | undefined {
  const given = path.split('/');
  for (const route of dataRoutes) {
    const wanted = route.path.split('/');
    if (wanted.length !== given.length) continue;
    const isHere = wanted.every((part, index) => isPlace(part) || part === given[index]);
    if (!isHere) continue;
    try {
      const names = given.filter((_, index) => isPlace(wanted[index]));
      return { route, key: names.map((name) => decodeURIComponent(name)).join('/') };
    } catch {
      return undefined;
    }
  }
  return undefined;
}

function isPlace(part = ''): boolean {
  return part.startsWith('{');
}
