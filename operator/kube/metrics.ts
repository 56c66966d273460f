import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** controller-runtime's buckets for the duration of a reconcile, in seconds. */
const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
  1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
/** client-go's buckets for the durations of a work queue, in seconds. */
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000];

/** For how long the keys in progress have been processed, in seconds. */
export interface QueueProbe {
  readonly name: string;
  readonly unfinishedSeconds: () => { readonly sum: number; readonly longest: number };
}

/**
 * The metrics of the Kubernetes runtime, with the names and labels of controller-runtime and client-go, so that
 * dashboards and alerts made for them work unchanged. One instance per registry.
 */
export class KubeMetrics {
  readonly requests: Counter<'code' | 'method' | 'host'>;
  readonly queueDepth: Gauge<'name' | 'controller'>;
  readonly queueAdds: Counter<'name' | 'controller'>;
  readonly queueRetries: Counter<'name' | 'controller'>;
  readonly queueSeconds: Histogram<'name' | 'controller'>;
  readonly queueWorkSeconds: Histogram<'name' | 'controller'>;
  readonly reconciles: Counter<'controller' | 'result'>;
  readonly reconcileErrors: Counter<'controller'>;
  readonly reconcileTerminalErrors: Counter<'controller'>;
  readonly reconcileTimeouts: Counter<'controller'>;
  readonly reconcileSeconds: Histogram<'controller'>;
  readonly maxConcurrentReconciles: Gauge<'controller'>;
  readonly activeWorkers: Gauge<'controller'>;
  readonly isLeader: Gauge<'name'>;
  readonly #probes = new Set<QueueProbe>();

  constructor(registry: Registry) {
    const registers = [registry];
    const queueLabels = ['name', 'controller'] as const;
    this.requests = new Counter({
      name: 'rest_client_requests_total',
      help: 'Number of HTTP requests, partitioned by status code, method, and host.',
      labelNames: ['code', 'method', 'host'],
      registers,
    });
    this.queueDepth = new Gauge({
      name: 'workqueue_depth',
      help: 'Current depth of workqueue.',
      labelNames: queueLabels,
      registers,
    });
    this.queueAdds = new Counter({
      name: 'workqueue_adds_total',
      help: 'Total number of adds handled by workqueue.',
      labelNames: queueLabels,
      registers,
    });
    this.queueRetries = new Counter({
      name: 'workqueue_retries_total',
      help: 'Total number of retries handled by workqueue.',
      labelNames: queueLabels,
      registers,
    });
    this.queueSeconds = new Histogram({
      name: 'workqueue_queue_duration_seconds',
      help: 'How long in seconds an item stays in workqueue before being requested.',
      labelNames: queueLabels,
      buckets: queueBuckets,
      registers,
    });
    this.queueWorkSeconds = new Histogram({
      name: 'workqueue_work_duration_seconds',
      help: 'How long in seconds processing an item from workqueue takes.',
      labelNames: queueLabels,
      buckets: queueBuckets,
      registers,
    });
    this.#probeGauge(
      'workqueue_unfinished_work_seconds',
      'How many seconds of work is in progress and has not been observed by work_duration.',
      'sum',
      registry,
    );
    this.#probeGauge(
      'workqueue_longest_running_processor_seconds',
      'How many seconds the longest running processor for workqueue has been running.',
      'longest',
      registry,
    );
    this.reconciles = new Counter({
      name: 'controller_runtime_reconcile_total',
      help: 'Total number of reconciliations per controller.',
      labelNames: ['controller', 'result'],
      registers,
    });
    this.reconcileErrors = new Counter({
      name: 'controller_runtime_reconcile_errors_total',
      help: 'Total number of reconciliation errors per controller.',
      labelNames: ['controller'],
      registers,
    });
    this.reconcileTerminalErrors = new Counter({
      name: 'controller_runtime_terminal_reconcile_errors_total',
      help: 'Total number of terminal reconciliation errors per controller.',
      labelNames: ['controller'],
      registers,
    });
    this.reconcileTimeouts = new Counter({
      name: 'controller_runtime_reconcile_timeouts_total',
      help: 'Total number of reconciliations that ran into their deadline, per controller.',
      labelNames: ['controller'],
      registers,
    });
    this.reconcileSeconds = new Histogram({
      name: 'controller_runtime_reconcile_time_seconds',
      help: 'Length of time per reconciliation per controller.',
      labelNames: ['controller'],
      buckets: reconcileBuckets,
      registers,
    });
    this.maxConcurrentReconciles = new Gauge({
      name: 'controller_runtime_max_concurrent_reconciles',
      help: 'Maximum number of concurrent reconciles per controller.',
      labelNames: ['controller'],
      registers,
    });
    this.activeWorkers = new Gauge({
      name: 'controller_runtime_active_workers',
      help: 'Number of currently used workers per controller.',
      labelNames: ['controller'],
      registers,
    });
    this.isLeader = new Gauge({
      name: 'leader_election_master_status',
      help: 'Whether the process is the leader of this lease: 1 or 0.',
      labelNames: ['name'],
      registers,
    });
  }

  /** Includes a work queue in each scrape. */
  watchQueue(probe: QueueProbe): void {
    this.#probes.add(probe);
  }

  #probeGauge(name: string, help: string, value: 'sum' | 'longest', registry: Registry): void {
    const probes = this.#probes;
    new Gauge({
      name,
      help,
      labelNames: ['name', 'controller'],
      registers: [registry],
      collect() {
        for (const probe of probes) {
          this.set({ name: probe.name, controller: probe.name }, probe.unfinishedSeconds()[value]);
        }
      },
    });
  }
}
