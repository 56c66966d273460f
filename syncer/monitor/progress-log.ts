import type { SyncMonitor } from './monitor.ts';
import type { SyncRecord } from '../store/records.ts';

const firstMs = 10_000;
const growth = 1.5;
const longestMs = 3600_000;

/** Says when something is worth reporting again: soon at first, once an hour in the end. */
export class GrowingInterval {
  #intervalMs = firstMs;
  #dueMs: number;

  constructor(nowMs: number) {
    this.#dueMs = nowMs + firstMs;
  }

  /** True once each time that the interval has passed. */
  isDue(nowMs: number): boolean {
    if (nowMs < this.#dueMs) return false;
    this.#intervalMs = Math.min(longestMs, this.#intervalMs * growth);
    this.#dueMs = nowMs + this.#intervalMs;
    return true;
  }
}

/** The summary of a sync for the log; undefined in a phase that is short. */
export function summaryOf(
  { phase, estimatedTotalBytes }: Pick<SyncRecord, 'phase' | 'estimatedTotalBytes'>,
  monitor: Pick<
    SyncMonitor,
    | 'copiedBytes'
    | 'indexBuilding'
    | 'lagSeconds'
    | 'catchUpSeconds'
    | 'eventsApplied'
    | 'oplogSecondsLeft'
  >,
): { readonly message: string; readonly figures: object } | undefined {
  const { copiedBytes, indexBuilding, lagSeconds, catchUpSeconds, eventsApplied } = monitor;
  const oplogSecondsLeft = monitor.oplogSecondsLeft;
  switch (phase) {
    case 'copy': {
      const total = estimatedTotalBytes ?? 0;
      const percent = total === 0 ? 100 : Math.min(100, Math.floor((100 * copiedBytes) / total));
      return indexBuilding === null
        ? { message: 'copying', figures: { percent, copiedBytes, oplogSecondsLeft } }
        : { message: 'building indexes', figures: { ...indexBuilding, oplogSecondsLeft } };
    }
    case 'changes':
      return {
        message: 'applying changes',
        figures: { lagSeconds, catchUpSeconds, eventsApplied, oplogSecondsLeft },
      };
    case 'catalog':
    case 'restoring':
    case 'done':
    case 'handover':
    case 'preparing':
      return undefined;
  }
}
