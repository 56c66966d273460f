/** Requests to the API server, by method. */
export type Requests = Readonly<Record<string, number>>;

/** How many requests an operator has sent, from its metrics. */
export function requestsIn(metrics: string): Requests {
  const requests: Record<string, number> = {};
  const pattern = /^rest_client_requests_total\{(.*)\} (\d+)$/gm;
  for (const [, labels = '', count = ''] of metrics.matchAll(pattern)) {
    const [, method = ''] = /method="(\w+)"/.exec(labels) ?? [];
    requests[method] = (requests[method] ?? 0) + Number(count);
  }
  return requests;
}

/** The requests between two moments, by method. */
export function requestsBetween(before: Requests, after: Requests): Requests {
  return Object.fromEntries(
    Object.entries(after).map(([method, count]) => [method, count - (before[method] ?? 0)]),
  );
}

/** The value of a metric without labels. */
export function valueIn(metrics: string, name: string): number {
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(metrics)?.[1] ?? Number.NaN);
}
