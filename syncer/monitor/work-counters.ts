import { Counter, type Registry } from 'prom-client';

/** The prefix of all metrics of the syncer. */
export const metricPrefix = 'clustersync_syncer_';

/** Metrics that count what this process does. */
export class WorkCounters {
  readonly copiedDocuments: Counter;
  readonly copiedBytes: Counter;
  readonly comparedDocuments: Counter;
  readonly changedDocuments: Counter;
  readonly events: Counter<'kind'>;
  readonly retries: Counter<'work'>;
  readonly errors: Counter<'error'>;

  constructor(registry: Registry) {
    const registers = [registry];
    const counter = <L extends string = never>(
      name: string,
      help: string,
      labelNames: readonly L[] = [],
    ): Counter<L> =>
      new Counter({ name: `${metricPrefix}${name}_total`, help, labelNames, registers });
    this.copiedDocuments = counter(
      'copied_documents',
      'Documents copied by this process in the initial copy, including repeats.',
    );
    this.copiedBytes = counter(
      'copied_bytes',
      'Bytes copied by this process in the initial copy, including repeats.',
    );
    this.comparedDocuments = counter(
      'compared_documents',
      'Documents of the source that this process compared with those that the destination already had.',
    );
    this.changedDocuments = counter(
      'changed_documents',
      'Documents that differed in that comparison: replaced, inserted or deleted on the destination.',
    );
    this.events = counter('events_applied', 'Change events applied by this process.', ['kind']);
    this.retries = counter('retries', 'Retries after a transient error.', ['work']);
    this.errors = counter('errors', 'Errors by name, including transient ones.', ['error']);
  }
}
