import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { sleep } from '../../service/sleep.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { SyncRecord } from '../store/records.ts';
import type { SyncStore } from '../store/store.ts';

const intervalMs = 1_000;

/** What looking at a paused sync needs. */
export interface PausedParts {
  readonly live: LiveSync;
  readonly storeOf: (record: SyncRecord) => Pick<SyncStore, 'readSyncOfPrimary'>;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Looks at the record each second while this instance of several is paused, until the signal is aborted: nothing of its work does
 * then, and others may be given a commit. It never fails.
 */
export async function watchPaused(parts: PausedParts): Promise<void> {
  const { live, storeOf, monitor, logger, signal } = parts;
  const isStopped = (): boolean => signal.aborted;
  while (!isStopped()) {
    if (live.isShared && live.record?.state === 'PAUSED' && !live.resetUnderWay) {
      try {
        const { commitProofs } = monitor;
        const store = storeOf(live.stored);
        const record = await commitProofs.by('record', async () => await store.readSyncOfPrimary());
        if (record) commitProofs.setCommandsOnPrimary(record.commandCount);
        if (record?.commandCount !== live.stored.commandCount) await live.refresh();
      } catch (error) {
        if (!isStopped())
          logger.debug({ reason: messageOf(error) }, 'the record could not be looked at');
      }
    }
    await sleep(intervalMs, signal).catch(() => undefined);
  }
}
