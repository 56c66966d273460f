import { latestWriteTime, writeNoop } from '../mongo/cluster-time.ts';
import { isTransient } from '../mongo/server-errors.ts';
import { messageOf } from '../service/errors.ts';
import { sleep } from '../service/sleep.ts';
import type { SyncContext } from './sync-context.ts';

const beatMs = 1_000;

/** A no-op write on the source this often keeps the lag of an idle source honest. */
const beatsPerNoop = 10;

/**
 * Keeps the figures of a sync fresh until its signal is aborted: the source's latest write, no-op writes there, and the
 * sign of life in the store.
 * @throws SyncError SupersededByOtherInstance.
 */
export async function keepPulse(context: SyncContext): Promise<void> {
  const { source, monitor, store, signal, logger } = context;
  const isStopped = (): boolean => signal.aborted;
  for (let beat = 0; !isStopped(); beat++) {
    try {
      if (beat % beatsPerNoop === 0) {
        await store.heartbeat();
        await writeNoop(source, 'lag', signal);
      }
      monitor.latestTime = await latestWriteTime(source, signal);
    } catch (error) {
      if (isStopped()) return;
      if (!isTransient(error)) throw error;
      logger.debug({ reason: messageOf(error) }, 'no pulse');
    }
    await sleep(beatMs, signal).catch(() => undefined);
  }
}
