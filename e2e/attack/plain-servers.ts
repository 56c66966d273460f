import { Registry } from 'prom-client';
import { startDashboard } from '../../dashboard/server/dashboard-server.ts';
import { genericErrorBody, startHttpServer, type Route } from '../../service/http-server.ts';
import { createLogger } from '../../service/logger.ts';
import { MadeUpSyncs } from '../integration/dashboard/made-up-syncs.ts';

/** A server of the product, without anything behind it. */
interface PlainServer {
  /** Answered to everybody. */
  readonly path: string;
  readonly start: () => Promise<AsyncDisposable & { readonly port: number }>;
}

const logger = createLogger('test', 'fatal');
const where = { host: '127.0.0.1', port: 0, logger };

const echo: Route = {
  ...{ method: 'POST', path: '/api/v1/echo', errorBody: genericErrorBody },
  handle: (body) => ({ got: body }),
};

/** Every kind of server: syncer, verifier and operator use the same one. An API has a POST at `/api/v1/echo`. */
export const plainServers: Readonly<Record<string, PlainServer>> = {
  'an API': {
    path: '/healthz',
    start: async () => {
      const metrics = new Registry();
      return await startHttpServer({ ...where, routes: [echo], metrics, isReady: () => true });
    },
  },
  'the dashboard': {
    path: '/',
    start: async () => await startDashboard({ ...where, source: new MadeUpSyncs(3) }),
  },
};
