import { RetryWarnings } from '../mongo/retry-warnings.ts';
import { Counter, Gauge, Registry } from 'prom-client';
import type { DocumentList } from '../mongo/document-list.ts';

/** The figures of a verification, for progress and /metrics. */
export class VerifierMonitor {
  readonly registry = new Registry();
  readonly retryWarnings = new RetryWarnings();
  /** The pass that is under way, or was the last; 0 is the first. */
  pass = 0;
  /** Differences found by the pass that is under way, or was the last. */
  mismatches = 0;
  documentsCompared = 0;
  bytesCompared = 0;
  /** Changes read from both sides. */
  changesSeen = 0;
  readonly #retries: Counter;

  constructor() {
    const registers = [this.registry];
    const gauge = (name: string, help: string, read: () => number): void => {
      new Gauge({
        name: `clustersync_verifier_${name}`,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    };
    gauge('generation', 'Pass over the data; 0 is the first', () => this.pass);
    gauge('mismatches', 'Differences found by the current pass', () => this.mismatches);
    gauge('documents_compared', 'Documents of the source compared', () => this.documentsCompared);
    gauge('bytes_compared', 'Bytes of the source compared', () => this.bytesCompared);
    gauge('changes_seen', 'Changes read from both sides', () => this.changesSeen);
    this.#retries = new Counter({
      name: 'clustersync_verifier_retries_total',
      help: 'Retries after a transient error',
      labelNames: ['work'],
      registers,
    });
  }

  addCompared({ count, bytes }: Pick<DocumentList, 'count' | 'bytes'>): void {
    this.documentsCompared += count;
    this.bytesCompared += bytes;
  }

  addRetry(work: string): void {
    this.#retries.inc({ work });
  }
}
