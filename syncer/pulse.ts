import { latestWriteTime, writeNoop } from '../mongo/cluster-time.ts';
import { isTransient } from '../mongo/server-errors.ts';
import { messageOf, SyncError } from '../service/errors.ts';
import { sleep } from '../service/sleep.ts';
import { ReshardingWatch } from './changes/resharding-watch.ts';
import { watchAppliedOps } from './changes/watch-applied-ops.ts';
import type { LiveSync } from './live-sync.ts';
import { GrowingInterval, summaryOf } from './outlook/story.ts';
import type { SyncContext } from './sync-context.ts';

const beatMs = 1_000;

/** A no-op write on the source this often keeps the lag of an idle source honest. */
const beatsPerNoop = 10;

/** How often the source is asked whether collections were resharded. */
const beatsPerReshardingLook = 5;

/** Several come while a process relies on one (Claim). */
const signOfLifeMs = 5_000;

/**
 * Keeps the figures of a sync fresh until its signal is aborted: the source's latest write, no-op writes there; and the
 * sign of life in the store, beside it: a destination that is slow must not make the lag look small. Tells of the figures
 * in the log now and then.
 * @throws SyncError SupersededByOtherInstance; OplogRolledOver as soon as a copy is known to be in vain; ChangeNotSupported
 *   where a collection was resharded; ApplyOpsOnSource.
 */
export async function keepPulse(context: SyncContext, live: LiveSync): Promise<void> {
  const ended = new AbortController();
  const signal = AbortSignal.any([context.signal, ended.signal]);
  const own = { ...context, signal };
  const parts = [watchSource(own, live), giveSignsOfLife(own)];
  // No router shows the oplogs of shards.
  if (context.sourceShards.length === 0) parts.push(watchAppliedOps(own, live));
  try {
    await Promise.race(parts);
  } finally {
    ended.abort(new Error('the pulse has ended'));
    await Promise.allSettled(parts);
  }
}

async function giveSignsOfLife(context: SyncContext): Promise<void> {
  while (!context.signal.aborted) {
    await beat(context, async () => {
      await context.store.heartbeat();
    });
    await sleep(signOfLifeMs, context.signal).catch(() => undefined);
  }
}

async function watchSource(context: SyncContext, live: LiveSync): Promise<void> {
  const { source, monitor, signal, logger } = context;
  let { phase } = live.current;
  let telling = new GrowingInterval(performance.now());
  const resharding = new ReshardingWatch(context);
  for (let beats = 0; !signal.aborted; beats++) {
    await beat(context, async () => {
      if (beats % beatsPerNoop === 0) await writeNoop(source, 'lag', signal);
      monitor.latestTime = await latestWriteTime(source, signal);
      requireOplog(context, live);
      if (live.current.phase === 'changes') monitor.sampleCatchUp();
      if (beats % beatsPerReshardingLook === 0) await resharding.look();
    });
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

/** One beat of the pulse: what passes by itself is for the next one. */
async function beat(
  { monitor, signal, logger }: SyncContext,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (signal.aborted) return;
    if (!isTransient(error)) throw error;
    monitor.addError(error);
    logger.debug({ reason: messageOf(error) }, 'no pulse');
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
