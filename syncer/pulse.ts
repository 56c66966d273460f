import { latestWriteTime, writeNoop } from '../mongo/cluster-time.ts';
import { isTransient } from '../mongo/server-errors.ts';
import { messageOf, SyncError } from '../service/errors.ts';
import { sleep } from '../service/sleep.ts';
import type { LiveSync } from './live-sync.ts';
import { GrowingInterval, summaryOf } from './outlook/story.ts';
import type { SyncContext } from './sync-context.ts';

const beatMs = 1_000;

/** A no-op write on the source this often keeps the lag of an idle source honest. */
const beatsPerNoop = 10;

/**
 * Keeps the figures of a sync fresh until its signal is aborted: the source's latest write, no-op writes there, and the
 * sign of life in the store. Tells of them in the log now and then.
 * @throws SyncError SupersededByOtherInstance; OplogRolledOver as soon as a copy is known to be in vain.
 */
export async function keepPulse(context: SyncContext, live: LiveSync): Promise<void> {
  const { source, monitor, store, signal, logger } = context;
  const isStopped = (): boolean => signal.aborted;
  let { phase } = live.current;
  let telling = new GrowingInterval(performance.now());
  for (let beat = 0; !isStopped(); beat++) {
    try {
      if (beat % beatsPerNoop === 0) {
        await store.heartbeat();
        await writeNoop(source, 'lag', signal);
      }
      monitor.latestTime = await latestWriteTime(source, signal);
      requireOplog(context, live);
      if (live.current.phase === 'changes') monitor.sampleCatchUp();
    } catch (error) {
      if (isStopped()) return;
      if (!isTransient(error)) throw error;
      monitor.addError(error);
      logger.debug({ reason: messageOf(error) }, 'no pulse');
    }
    if (live.current.phase !== phase) {
      ({ phase } = live.current);
      telling = new GrowingInterval(performance.now());
    }
    if (telling.isDue(performance.now())) {
      const summary = summaryOf(live.current, monitor);
      if (summary) logger.info(summary.figures, summary.message);
    }
    await sleep(beatMs, signal).catch(() => undefined);
  }
}

/** During the copy no change stream is open that would say so. */
function requireOplog({ monitor }: SyncContext, { current: { phase, startTime } }: LiveSync): void {
  if (phase !== 'copy' || startTime === null || !monitor.isForgotten(startTime)) return;
  throw new SyncError(
    'OplogRolledOver',
    'the source has forgotten changes made since the copy began, before the copy was complete',
  );
}
