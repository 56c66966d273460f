import { Counter, Gauge } from 'prom-client';
import type { SyncError } from '../../service/errors.ts';
import type { SyncState } from '../store/transitions.ts';
import type { SyncMonitor } from './monitor.ts';
import { metricPrefix } from './work-counters.ts';
import { catchUpOf, lagOf } from './lag.ts';
import type { Phase, SyncView } from '../store/records.ts';

/** The part of a sync that the metrics show. */
export interface MeasuredSync {
  /** Undefined in IDLE. */
  readonly view: SyncView | undefined;
  /** True while the sync is worked on. */
  readonly isWorking: boolean;
  /** Why the sync has stopped for good, if it has. */
  readonly failure: SyncError | undefined;
  readonly pace: MeasuredPace;
}

/** How fast the sync may work, and what that costs. */
export interface MeasuredPace {
  /** Undefined for no limit. */
  readonly rate: (name: keyof typeof rates) => number | undefined;
  readonly heldSeconds: (work: (typeof heldWorks)[number]) => number;
  /** The limits for which something waits now. */
  readonly reasons: ReadonlySet<(typeof reasons)[number]>;
}

/** The limits that are rates, and the metric of each. */
const rates = {
  maxCopyBytesPerSecond: [
    'allowed_copy_bytes_per_second',
    'Bytes a second that may be copied now.',
  ],
  maxCopyDocumentsPerSecond: [
    'allowed_copy_documents_per_second',
    'Documents a second that may be copied now.',
  ],
  maxChangesPerSecond: ['allowed_changes_per_second', 'Changes a second that may be applied now.'],
} as const;

/** The limits for which work may wait, and which name it in a metric. */
const reasons = [
  'maxCopyBytesPerSecond',
  'maxCopyDocumentsPerSecond',
  'maxChangesPerSecond',
  'maxReplicationLagSeconds',
  'maxQueuedOperations',
  'maxCacheDirtyPercent',
  'minFreeDiskPercent',
] as const;

const heldWorks = ['copy', 'changes'] as const;

/** Every possible state. */
const states: Readonly<Record<SyncState, true>> = {
  IDLE: true,
  RUNNING: true,
  PAUSED: true,
  COMMITTING: true,
  COMMITTED: true,
};

const phases: Readonly<Record<Phase, true>> = {
  catalog: true,
  copy: true,
  changes: true,
  restoring: true,
  done: true,
  handover: true,
  preparing: true,
};

/**
 * Adds the metrics that are read from a sync at each scrape. Unknown values have no sample.
 * @param sync - returns the current one; undefined for none.
 */
export function registerStateMetrics(
  monitor: SyncMonitor,
  sync: () => MeasuredSync | undefined,
): void {
  const registers = [monitor.registry];
  const gauge = (name: string, help: string, read: () => number | null): void => {
    new Gauge({
      name: `${metricPrefix}${name}`,
      help,
      registers,
      collect() {
        const value = read();
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  };
  const oneOf = (
    label: string,
    help: string,
    values: Readonly<Record<string, true>>,
    read: () => string | undefined,
  ): void => {
    new Gauge({
      name: `${metricPrefix}${label}`,
      help,
      labelNames: [label],
      registers,
      collect() {
        const now = read();
        for (const value of Object.keys(values))
          this.set({ [label]: value }, now === value ? 1 : 0);
      },
    });
  };
  const view = (): SyncView | undefined => sync()?.view;
  const ofSync = (read: (view: SyncView) => number | null): (() => number | null) => {
    return () => {
      const now = view();
      return now ? read(now) : null;
    };
  };
  oneOf(
    'state',
    'State of the sync: 1 for the current one.',
    states,
    () => view()?.state ?? 'IDLE',
  );
  oneOf('phase', 'Phase of the sync: 1 for the current one.', phases, () => view()?.phase);
  gauge('failed', 'Whether the sync has stopped for good: 1 or 0.', () =>
    sync()?.failure ? 1 : 0,
  );
  gauge(
    'restarts',
    'Number of times that work on the sync resumed, in a new process or by resume.',
    () => monitor.restarts,
  );
  gauge(
    'estimated_total_bytes',
    'Bytes to copy in the initial copy.',
    () => view()?.estimatedTotalBytes ?? null,
  );
  gauge('estimated_copied_bytes', 'Bytes copied in the initial copy.', () => monitor.copiedBytes);
  gauge(
    'indexes_to_build',
    'Indexes to build after the copy.',
    () => monitor.indexBuilding?.totalIndexesToBuild ?? null,
  );
  gauge(
    'indexes_built',
    'Indexes built after the copy.',
    () => monitor.indexBuilding?.indexesBuilt ?? null,
  );
  gauge(
    'lag_seconds',
    'Seconds from the last change applied to the latest one on the source.',
    ofSync((now) => lagOf(now, monitor)),
  );
  gauge(
    'catch_up_seconds',
    'Estimated seconds until the lag is gone.',
    ofSync((now) => catchUpOf(now, sync()?.isWorking ?? false, monitor)),
  );
  gauge('buffered_events', 'Change events read but not applied yet.', () => monitor.bufferedEvents);
  gauge(
    'buffered_bytes',
    'Bytes of change events read but not applied yet.',
    () => monitor.bufferedBytes,
  );
  gauge(
    'oplog_window_seconds',
    'Seconds from the oldest to the latest entry of the oplog that the sync needs.',
    () => monitor.oplogWindowSeconds,
  );
  gauge(
    'oplog_remaining_seconds',
    'Estimated seconds until that oplog no longer holds all that the sync needs.',
    () => monitor.oplogSecondsLeft,
  );
  for (const [limit, [name, help]] of Object.entries(rates))
    gauge(name, `${help} No sample without a limit.`, () => {
      return sync()?.pace.rate(limit as keyof typeof rates) ?? null;
    });
  new Counter({
    name: `${metricPrefix}held_back_seconds_total`,
    help: 'Seconds for which limits have held back the work of this process.',
    labelNames: ['work'],
    registers,
    collect() {
      this.reset();
      for (const work of heldWorks) this.inc({ work }, sync()?.pace.heldSeconds(work) ?? 0);
    },
  });
  new Gauge({
    name: `${metricPrefix}held_back`,
    help: 'Whether work of this process waits now, by the limit for which it does: 1 or 0.',
    labelNames: ['reason'],
    registers,
    collect() {
      const now = sync()?.pace.reasons;
      for (const reason of reasons) this.set({ reason }, now?.has(reason) === true ? 1 : 0);
    },
  });
}
