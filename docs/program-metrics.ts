import { Registry } from 'prom-client';
import { KubeMetrics } from '../operator/kube/metrics.ts';
import {
  correctionCounter,
  registerNamespaceMetrics,
  registerResourceMetrics,
} from '../operator/metrics.ts';
import { LatestStatuses } from '../operator/operand/latest-statuses.ts';
import { registerStateMetrics } from '../syncer/monitor/metrics.ts';
import { SyncMonitor } from '../syncer/monitor/monitor.ts';
import { VerifierMonitor } from '../verifier/monitor.ts';

/** A metric of a program. */
export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labels: readonly string[];
}

/** What each program serves at /metrics, but for the metrics of its process. */
export function metricsOfPrograms(): Readonly<Record<string, readonly Metric[]>> {
  const syncer = new SyncMonitor();
  registerStateMetrics(syncer, () => undefined);
  const operator = new Registry();
  const nothing = { get: () => undefined, list: () => [] };
  correctionCounter(operator);
  registerResourceMetrics(operator, {
    clusterSyncs: nothing,
    latest: new LatestStatuses(),
    syncVerifications: nothing,
    isActive: () => false,
    isKnown: () => false,
  });
  registerNamespaceMetrics(operator, { named: () => new Map(), owned: () => new Map() });
  new KubeMetrics(operator);
  return {
    syncer: metricsIn(syncer.registry),
    verifier: metricsIn(new VerifierMonitor().registry),
    operator: metricsIn(operator),
  };
}

/** The metrics of a registry: prom-client types only a part of what they have. */
export function metricsIn(registry: Registry): Metric[] {
  const metrics = registry.getMetricsAsArray() as unknown as {
    name: string;
    help: string;
    type: string;
    labelNames: readonly string[];
  }[];
  return metrics.map(({ name, help, type, labelNames }) => ({
    name,
    help,
    type,
    labels: labelNames,
  }));
}
