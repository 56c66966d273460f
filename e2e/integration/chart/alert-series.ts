import type { Series } from './promql.ts';

/** What an alert makes of some series. */
export interface AlertCase {
  readonly alert: string;
  readonly what: string;
  readonly series: readonly Series[];
  /** The minute in which it begins to fire. Absent: it never does. */
  readonly firesAtMinute?: number;
  /** What its texts must tell the person who is called. */
  readonly says?: RegExp;
  /** The reason that its description names in that minute. */
  readonly reason?: string;
}

/** A metric of a program, with the labels that Prometheus gives it. */
export function of(
  target: Readonly<Record<string, string>>,
  metric: string,
  labels: Readonly<Record<string, string>>,
  values: Series['values'],
): Series {
  return { labels: { __name__: metric, ...target, ...labels }, values };
}

export const operator = {
  namespace: 'clustersync',
  pod: 'clustersync-1',
  instance: '10.0.0.1:8080',
  job: 'clustersync-metrics',
};
export const otherOperator = { ...operator, pod: 'clustersync-2', instance: '10.0.0.2:8080' };
export const shop = { namespace: 'shop', name: 'orders' };
export const syncer = { ...shop, pod: 'orders-syncer-0', job: 'clustersync/clustersync' };

export function times(count: number, value: number | null): (number | null)[] {
  return Array.from({ length: count }, () => value);
}

export function condition(
  type: string,
  values: Series['values'],
  { metric = 'clustersync_condition', target = operator } = {},
): Series {
  return of(target, metric, { ...shop, condition: type }, values);
}

export function notReady(
  reason: string,
  values: Series['values'],
  target = operator,
  metric = 'clustersync_not_ready_reason',
): Series {
  return of(target, metric, { ...shop, reason }, values);
}
