import type { AuditedWrite } from '../../e2e/ground/kubernetes/api-server.ts';

/** Requests to the API server, by method. */
export type Requests = Readonly<Record<string, number>>;

/** How many requests an operator has sent, according to its metrics. */
export function requestsIn(metrics: string): Requests {
  const requests: Record<string, number> = {};
  const pattern = /^rest_client_requests_total\{(.*)\} (\d+)$/gm;
  for (const [, labels = '', count = ''] of metrics.matchAll(pattern)) {
    const [, method = ''] = /method="(\w+)"/.exec(labels) ?? [];
    requests[method] = (requests[method] ?? 0) + Number(count);
  }
  return requests;
}

/** The requests between two times, by method. */
export function requestsBetween(before: Requests, after: Requests): Requests {
  return Object.fromEntries(
    Object.entries(after).map(([method, count]) => [method, count - (before[method] ?? 0)]),
  );
}

/** The number of writes of each kind, such as `patch clustersyncs/status`, without the renewals of the lease. */
export function kindsOf(writes: readonly AuditedWrite[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { verb, resource, subresource } of writes) {
    if (verb === 'update' && resource === 'leases') continue;
    const kind = `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

/** The value of a metric without labels. */
export function valueIn(metrics: string, name: string): number {
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(metrics)?.[1] ?? Number.NaN);
}
