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

/** What the user may not look at is tried again now and then: a role may be granted. */
const intervalAfterRefusalMs = 60_000;

/** Whether what is written to the source in a phase has to come to the destination. */
export function followsSource(phase: Phase): boolean {
  switch (phase) {
    case 'copy':
    case 'changes':
    case 'preparing':
      return true;
    // Where it begins is not fixed yet.
    case 'catalog':
    case 'restoring':
    case 'done':
    case 'handover':
      return false;
  }
}

/** What is told what is seen, and what ends the watch. */
interface Watching {
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Looks every other second, until the signal is aborted, whether somebody has written to a replica set by applyOps, so that the sync
 * stops when that is done, and not when it is committed. What keeps it from looking is told of in the warnings.
 * @throws SyncError ApplyOpsOnSource.
 */
export async function watchAppliedOps(
  source: Source,
  live: LiveSync,
  { monitor, logger, signal }: Watching,
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
    await sleep(pauseMs, signal).catch(() => undefined);
  }
}
