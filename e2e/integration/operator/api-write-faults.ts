import type { ApiProxy, ForgedAnswer } from '../../ground/kubernetes/api-proxy.ts';
import { fateOf, PlannedWrites, type Plan } from '../syncer/planned-writes.ts';

/**
 * How many writes of a kind are counted: what follows comes at intervals, so that there are as many as the work takes long. A
 * status is written for each step.
 */
const maxOfKind = { events: 4, leases: 4, status: 16 } as const;

/** Refusals after which a client may not take the write for done, and none of which says that it never will be. */
const refusals: readonly ForgedAnswer[] = [
  { code: 500, reason: 'InternalError', message: 'refused by the test' },
  { code: 429, reason: 'TooManyRequests', message: 'refused by the test', retryAfterSeconds: 1 },
  { code: 503, reason: 'ServiceUnavailable', message: 'refused by the test' },
];

/** As if somebody had changed the object since it was read. */
const conflict: ForgedAnswer = { code: 409, reason: 'Conflict', message: 'refused by the test' };

/** As the API server says it when it does not know what has become of a request. */
const timeout: ForgedAnswer = {
  ...{ code: 504, reason: 'Timeout' },
  message: 'Timeout: request did not complete within requested timeout',
};

/** Has the writes that come to an API server through a proxy noted, and lets one of them meet its fault. */
export function watchApiWrites(proxy: ApiProxy): PlannedWrites {
  const writes = new PlannedWrites();
  proxy.judge = ({ method, path }) => {
    if (method === 'GET') return undefined;
    const target = targetOf(path);
    const plan = writes.note(`${method} ${target}`, mostOf(target));
    return plan && fateOf(plan, { refusal: () => refusalOf(plan, method), unacknowledged });
  };
  return writes;
}

/** The resource, and its name where that is the same each time. */
function targetOf(path: string): string {
  const [location = ''] = path.split('?');
  const parts = location.split('/').slice(location.startsWith('/api/') ? 3 : 4);
  const [resource = '', name, subresource] = parts[0] === 'namespaces' ? parts.slice(2) : parts;
  if (resource === 'events' || resource === 'leases') return resource;
  return [resource, name, subresource].filter((part) => part !== undefined).join('/');
}

function mostOf(target: string): number {
  if (target === 'events' || target === 'leases') return maxOfKind[target];
  return target.endsWith('/status') ? maxOfKind.status : Infinity;
}

/** One of several refusals, always the same for a number. */
function refusalOf({ n }: Plan, method: string): ForgedAnswer {
  const possible = method === 'PUT' || method === 'PATCH' ? [...refusals, conflict] : refusals;
  return possible[n % possible.length] ?? conflict;
}

function unacknowledged(): ForgedAnswer {
  return timeout;
}
