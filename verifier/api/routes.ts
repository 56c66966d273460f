import { SyncError } from '../../service/errors.ts';
import { genericErrorBody, progressErrorBody, type Route } from '../../service/http-server.ts';
import { requireKnown } from '../../service/query-parameters.ts';
import { writesOffAlready } from '../../sync-api/command-answer.ts';
import type {
  MismatchPage,
  NamespacePage,
  Success,
  VerifierProgressAnswer,
  WritesOffAlready,
} from '../../sync-api/json.ts';
import type { Verifier } from '../verifier.ts';
import { lastingRoutes } from './lasting-routes.ts';
import { progressBody } from './progress.ts';

/** Rows of a page: the default, and the maximum. */
const defaultLimit = 100;
const maxLimit = 1000;

/** The endpoints of the verifier. */
export function verifierRoutes(
  verifier: Pick<Verifier, 'check' | 'setWritesOff' | 'mismatches' | 'namespaces'> &
    Parameters<typeof lastingRoutes>[0],
): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/v1/check',
      errorBody: genericErrorBody,
      handle: async (body): Promise<Success> => {
        requireEmpty(body);
        await verifier.check();
        return { success: true };
      },
    },
    {
      method: 'POST',
      path: '/api/v1/writesOff',
      errorBody: genericErrorBody,
      handle: async (body): Promise<Success | WritesOffAlready> => {
        requireEmpty(body);
        const isNew = await verifier.setWritesOff();
        return isNew ? { success: true } : writesOffAlready;
      },
    },
    {
      method: 'GET',
      path: '/api/v1/progress',
      errorBody: progressErrorBody,
      handle: async (): Promise<VerifierProgressAnswer> =>
        progressBody(await verifier.summary(), verifier.retryWarnings),
    },
    {
      method: 'GET',
      path: '/api/v1/mismatches',
      errorBody: genericErrorBody,
      handle: async (_body, query): Promise<MismatchPage> => {
        const { limit, after } = pageOf(query);
        return await verifier.mismatches(limit, after);
      },
    },
    {
      method: 'GET',
      path: '/api/v1/namespaces',
      errorBody: genericErrorBody,
      handle: async (_body, query): Promise<NamespacePage> => {
        const { limit, after = '' } = pageOf(query);
        const namespaces = await verifier.namespaces(limit + 1, after);
        const shown = namespaces.slice(0, limit);
        const next = namespaces.length > limit ? (shown.at(-1)?.namespace ?? null) : null;
        return { namespaces: shown, next };
      },
    },
    ...lastingRoutes(verifier),
  ];
}

function pageOf(query: URLSearchParams): {
  readonly limit: number;
  readonly after: string | undefined;
} {
  requireKnown(query, ['limit', 'after']);
  const text = query.get('limit') ?? String(defaultLimit);
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > maxLimit) {
    throw new SyncError('InvalidBody', `limit is a whole number from 1 to ${maxLimit}`);
  }
  return { limit, after: query.get('after') ?? undefined };
}

function requireEmpty(body: unknown): void {
  const [field] = typeof body === 'object' && body !== null ? Object.keys(body) : [];
  if (field !== undefined) {
    throw new SyncError('InvalidBody', `the body is {}, without ${JSON.stringify(field)}`);
  }
}
