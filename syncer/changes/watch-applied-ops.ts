import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { sleep } from '../../service/sleep.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { Phase } from '../store/records.ts';
import type { Logger } from '../../service/logger.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { unreadableOplogWarning } from '../source/applied-ops.ts';
import type { Source } from '../source/source.ts';

const intervalMs = 2_000;

/** How often to retry what the user may not read: a role may be granted. */
const intervalAfterRefusalMs = 60_000;

/** Whether writes to the source in a phase must reach the destination. */
export function followsSource(phase: Phase): boolean {
  switch (phase) {
    case 'copy':
    case 'changes':
    case 'preparing':
      return true;
    // The start time is not fixed yet.
    case 'catalog':
    case 'restoring':
    case 'done':
    case 'handover':
      return false;
  }
}

/** What the watch reports to, and what ends it. */
interface Watching {
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Checks every other second, until the signal is aborted, whether somebody has written to a replica set by applyOps, so that
 * the sync stops when that happens, and not only at the commit. A warning says what prevents the check.
 * @param pause - waits between two checks, until the signal is aborted.
 * @throws SyncError ApplyOpsOnSource.
 */
export async function watchAppliedOps(
  source: Source,
  live: LiveSync,
  { monitor, logger, signal }: Watching,
  pause: typeof sleep = sleep,
): Promise<void> {
  using retryWarning = monitor.retryWarnings.watch('reading the oplog');
  const isStopped = (): boolean => signal.aborted;
  while (!isStopped()) {
    let pauseMs = intervalMs;
    try {
      const { phase, startTime } = live.current;
      if (startTime !== null && followsSource(phase)) {
        await source.requireNoAppliedOps(startTime, await source.majorityTime());
        monitor.isOplogUnreadable = false;
        retryWarning.clear();
      }
    } catch (error) {
      if (error instanceof SyncError && !error.row.retryable) throw error;
      if (codeOf(error) === serverCode.unauthorized) {
        const warning = unreadableOplogWarning(live.current.options);
        if (!monitor.isOplogUnreadable) logger.warn({ warning }, 'warning');
        monitor.isOplogUnreadable = true;
        pauseMs = intervalAfterRefusalMs;
      } else if (!isStopped()) {
        monitor.addError(error);
        retryWarning.set(messageOf(error));
      }
    }
    await pause(pauseMs, signal).catch(() => undefined);
  }
}
