import { latestWriteTime, writeNoop } from '../../mongo/cluster-time.ts';
import { Patience } from '../../mongo/patience.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { isTransient } from '../../mongo/server-errors.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { sleep } from '../../service/sleep.ts';
import { ReshardingWatch } from '../changes/resharding-watch.ts';
import { watchAppliedOps } from '../changes/watch-applied-ops.ts';
import type { LiveSync } from '../store/live-sync.ts';
import { GrowingInterval, summaryOf } from '../monitor/progress-log.ts';
import type { ClusterRole } from '../monitor/commit-proofs.ts';
import { checkFeatureVersion } from '../preflight/check-feature-version.ts';
import type { Topologies } from '../store/clusters.ts';
import { fixCommitTime } from './run-sync.ts';
import type { SyncContext } from '../context/sync-context.ts';

const beatMs = 1_000;

/** A no-op write on the source this often keeps the lag of an idle source honest. */
const beatsPerNoop = 10;

/** How often the source is asked whether collections were resharded. */
const beatsPerReshardingLook = 5;

/** Several come while a process relies on one (Claim). */
const heartbeatMs = 5_000;

/**
 * Keeps the figures of a sync fresh until its signal is aborted: the source's latest write, no-op writes there; beside it,
 * as a destination that is slow must not make the lag look small, the heartbeat in the store, and what proves that a commit
 * would be taken. Tells of the figures in the log now and then.
 * @throws SyncError SupersededByOtherInstance; OplogRolledOver as soon as a copy is known to be in vain; ChangeNotSupported
 *   where a collection was resharded; ApplyOpsOnSource.
 */
export async function keepHeartbeat(
  context: SyncContext,
  live: LiveSync,
  topologies: Topologies,
): Promise<void> {
  const ended = new AbortController();
  const signal = AbortSignal.any([context.signal, ended.signal]);
  const own = { ...context, signal };
  const parts = [
    watchSource(own, live),
    sendHeartbeats(own),
    proveMajority(own),
    watchRecord(own, live),
    proveVersion(own, 'source', topologies),
    proveVersion(own, 'destination', topologies),
  ];
  // No router shows the oplogs of shards.
  if (!context.source.isSharded) parts.push(watchAppliedOps(own, live));
  try {
    await Promise.race(parts);
  } finally {
    ended.abort(new Error('the heartbeat has ended'));
    await Promise.allSettled(parts);
  }
}

async function sendHeartbeats(context: SyncContext): Promise<void> {
  const patience = new Patience();
  while (!context.signal.aborted) {
    await beat(context, patience, async () => {
      await context.store.heartbeat();
    });
    await sleep(heartbeatMs, context.signal).catch(() => undefined);
  }
}

/**
 * Proves that a majority of the destination, of each of its shards, takes writes. No other is sent before one is answered,
 * however long that takes: they would pile up.
 */
async function proveMajority(context: SyncContext): Promise<void> {
  const { destination, monitor, signal } = context;
  const noop = {
    appendOplogNote: 1,
    data: { clustersync: 'majority' },
    writeConcern: { w: 'majority' },
  };
  const patience = new Patience();
  while (!signal.aborted) {
    await beat(context, patience, async () => {
      await monitor.commitProofs.by('destination', async () => {
        await runCommand(destination.admin, noop, { signal, deadlineMs: 'none' });
      });
    });
    await sleep(beatMs, signal).catch(() => undefined);
  }
}

/** Looks whether a commit would be refused for a cluster's featureCompatibilityVersion, which anybody may change at any time. */
async function proveVersion(
  context: SyncContext,
  role: ClusterRole,
  topologies: Topologies,
): Promise<void> {
  const { monitor, options, signal } = context;
  const { commitProofs } = monitor;
  const name = options[role];
  const patience = new Patience();
  while (!signal.aborted) {
    await beat(context, patience, async () => {
      try {
        await commitProofs.by(`version of the ${role}`, async () => {
          await checkFeatureVersion(context[role], name, topologies[name], signal);
        });
        commitProofs.setVersionRefusal(role, undefined);
      } catch (error) {
        if (!(error instanceof SyncError) || isTransient(error)) throw error;
        commitProofs.setVersionRefusal(role, error);
      }
    });
    await sleep(beatMs, signal).catch(() => undefined);
  }
}

/**
 * Looks at the record as the destination's primary has it: a commit that waits for a majority is in no other reading. Takes up
 * one that a former process has sent, and that came late.
 */
async function watchRecord(context: SyncContext, live: LiveSync): Promise<void> {
  const { store, monitor, signal } = context;
  const patience = new Patience();
  while (!signal.aborted) {
    await beat(context, patience, async () => {
      const record = await monitor.commitProofs.by(
        'record',
        async () => await store.readSyncOfPrimary(),
      );
      if (!record) return;
      monitor.commitProofs.setCommandsOnPrimary(record.commandCount);
      const isOthers =
        record.commandCount > live.stored.commandCount && live.sent?.command !== 'commit';
      if (!isOthers || live.isShared) return;
      await live.refresh();
      if (live.stored.state === 'COMMITTING') await fixCommitTime(context, live);
    });
    await sleep(beatMs, signal).catch(() => undefined);
  }
}

async function watchSource(context: SyncContext, live: LiveSync): Promise<void> {
  const { source, monitor, signal, logger } = context;
  let { phase } = live.current;
  let telling = new GrowingInterval(performance.now());
  const resharding = new ReshardingWatch(context);
  const patience = new Patience();
  for (let beats = 0; !signal.aborted; beats++) {
    await beat(context, patience, async () => {
      if (beats % beatsPerNoop === 0) await writeNoop(source, 'lag', signal);
      monitor.latestTime = await monitor.commitProofs.by(
        'source',
        async () => await latestWriteTime(source, signal),
      );
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

/** One beat: what passes by itself is for the next one. */
async function beat(
  { monitor, signal, logger }: SyncContext,
  patience: Patience,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
    patience.reset();
  } catch (error) {
    if (signal.aborted) return;
    if (!isTransient(error) && !patience.allows(error)) throw error;
    monitor.addError(error);
    logger.debug({ reason: messageOf(error) }, 'a heartbeat has failed');
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
