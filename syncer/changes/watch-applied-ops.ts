import { majorityTime } from '../../mongo/cluster-time.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { sleep } from '../../service/sleep.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { Phase } from '../store/records.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { requireNoAppliedOps, unreadableOplogWarning } from '../source/applied-ops.ts';

const intervalMs = 2_000;

/** What the user may not look at is tried again now and then: a role may be granted. */
const intervalAfterRefusalMs = 60_000;

/** Whether what is written to the source in a phase has to come to the destination. */
export function followsSource(phase: Phase): boolean {
  switch (phase) {
    case 'copy':
    case 'changes':
    case 'loosening':
      return true;
    // Where it begins is not fixed yet.
    case 'catalog':
    case 'restoring':
    case 'done':
    case 'handover':
      return false;
  }
}

/**
 * Looks every other second, until the signal is aborted, whether somebody has written to a replica set by applyOps, so that the sync
 * stops when that is done, and not when it is committed. What keeps it from looking is told of in the warnings.
 * @throws SyncError ApplyOpsOnSource.
 */
export async function watchAppliedOps(context: SyncContext, live: LiveSync): Promise<void> {
  const { source, monitor, options, logger, signal } = context;
  using trouble = monitor.troubles.watch('looking at the oplog');
  while (!signal.aborted) {
    let pauseMs = intervalMs;
    try {
      const { phase, startTime } = live.current;
      if (startTime !== null && followsSource(phase)) {
        await requireNoAppliedOps(context, startTime, await majorityTime(source, signal));
        monitor.isOplogUnreadable = false;
        trouble.clear();
      }
    } catch (error) {
      if (error instanceof SyncError && !error.row.retryable) throw error;
      if (codeOf(error) === serverCode.unauthorized) {
        const warning = unreadableOplogWarning(options);
        if (!monitor.isOplogUnreadable) logger.warn({ warning }, 'warning');
        monitor.isOplogUnreadable = true;
        pauseMs = intervalAfterRefusalMs;
      } else if (!context.signal.aborted) {
        monitor.addError(error);
        trouble.set(messageOf(error));
      }
    }
    await sleep(pauseMs, signal).catch(() => undefined);
  }
}
