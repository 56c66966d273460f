import { Counter, Gauge, Registry } from 'prom-client';
import type { Timestamp } from 'mongodb';
import { secondsBetween } from '../mongo/cluster-time.ts';

/** The figures of a running sync: what progress and /metrics show. Changed as the work goes on, never waited for. */
export class SyncMonitor {
  readonly registry = new Registry();
  /** Change events up to here have been applied. */
  appliedTime: Timestamp | null = null;
  /** The source's latest write that is known of. */
  latestTime: Timestamp | null = null;
  copiedBytes = 0;
  eventsApplied = 0;

  readonly #copiedDocuments: Counter;
  readonly #events: Counter;
  readonly #retries: Counter;

  constructor() {
    const registers = [this.registry];
    const gauge = (name: string, help: string, read: () => number): void => {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    };
    gauge(
      'clustersync_lag_seconds',
      'Seconds between the last applied and the latest event',
      () => this.lagSeconds ?? 0,
    );
    gauge('clustersync_copied_bytes', 'Bytes copied by the initial copy', () => this.copiedBytes);
    this.#copiedDocuments = new Counter({
      name: 'clustersync_copied_documents_total',
      help: 'Documents copied by the initial copy',
      registers,
    });
    this.#events = new Counter({
      name: 'clustersync_events_applied_total',
      help: 'Change events applied',
      labelNames: ['kind'],
      registers,
    });
    this.#retries = new Counter({
      name: 'clustersync_retries_total',
      help: 'Attempts repeated after an error that passes',
      labelNames: ['work'],
      registers,
    });
  }

  /** Seconds between the last applied event and the source's latest one; null before anything is known. */
  get lagSeconds(): number | null {
    if (this.appliedTime === null || this.latestTime === null) return null;
    return secondsBetween(this.appliedTime, this.latestTime);
  }

  addCopied(documents: number, bytes: number): void {
    this.#copiedDocuments.inc(documents);
    this.copiedBytes += bytes;
  }

  addEvents(kind: string, count: number): void {
    this.#events.inc({ kind }, count);
    this.eventsApplied += count;
  }

  addRetry(work: string): void {
    this.#retries.inc({ work });
  }
}
