import { Patience } from '../../mongo/patience.ts';
import { isTransient } from '../../mongo/server-errors.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { sleep } from '../../service/sleep.ts';
import type { Destination } from '../destination/destination.ts';
import type { ClusterRole } from '../monitor/commit-word.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { GrowingInterval, summaryOf } from '../monitor/progress-log.ts';
import { checkFeatureVersion } from '../preflight/check-versions.ts';
import { watchAppliedOps } from '../changes/watch-applied-ops.ts';
import type { Source } from '../source/source.ts';
import type { ClusterPair } from '../store/clusters.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { SyncStore } from '../store/store.ts';
import type { SyncRun } from './run-sync.ts';

const beatMs = 1_000;

/** A no-op write on the source this often keeps the lag of an idle source honest. */
const beatsPerNoop = 10;

/** How often the source is asked whether collections were resharded. */
const beatsPerReshardingLook = 5;

/** Several come while a process relies on one (InstanceOwnership). */
const heartbeatMs = 5_000;

/** What is kept alive, and by what. */
interface HeartbeatParts {
  readonly run: SyncRun;
  readonly source: Source;
  readonly destination: Destination;
  readonly live: LiveSync;
  readonly syncStore: SyncStore;
  readonly pair: ClusterPair;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Keeps the figures of a sync fresh until its signal is aborted: the source's latest write, no-op writes there; beside it,
 * as a destination that is slow must not make the lag look small, the heartbeat in the store, and what proves that a commit
 * would be taken. Tells of the figures in the log now and then.
 * @throws SyncError SupersededByOtherInstance; OplogRolledOver as soon as a copy is known to be in vain; ChangeNotSupported
 *   where a collection was resharded; ApplyOpsOnSource.
 */
export async function keepHeartbeat(parts: HeartbeatParts): Promise<void> {
  const ended = new AbortController();
  const signal = AbortSignal.any([parts.signal, ended.signal]);
  const source = parts.source.within(signal);
  const destination = parts.destination.within(signal);
  const own = { ...parts, source, destination, signal };
  const works = [
    watchSource(own),
    sendHeartbeats(own),
    proveMajority(own),
    watchRecord(own),
    proveVersion(own, 'source'),
    proveVersion(own, 'destination'),
  ];
  if (source.kind.hasReadableOplog) works.push(watchAppliedOps(source, parts.live, own));
  try {
    await Promise.race(works);
  } finally {
    ended.abort(new Error('the heartbeat has ended'));
    await Promise.allSettled(works);
  }
}

async function sendHeartbeats(parts: HeartbeatParts): Promise<void> {
  const patience = new Patience();
  while (!parts.signal.aborted) {
    await beat(parts, patience, async () => {
      await parts.syncStore.heartbeat();
    });
    await sleep(heartbeatMs, parts.signal).catch(() => undefined);
  }
}

/**
 * Proves that a majority of the destination, of each of its shards, takes writes. No other is sent before one is answered,
 * however long that takes: they would pile up.
 */
async function proveMajority(parts: HeartbeatParts): Promise<void> {
  const { destination, monitor, signal } = parts;
  const patience = new Patience();
  while (!signal.aborted) {
    await beat(parts, patience, async () => {
      await monitor.commitProofs.by('destination', async () => {
        await destination.proveMajority();
      });
    });
    await sleep(beatMs, signal).catch(() => undefined);
  }
}

/** Looks whether a commit would be refused for a cluster's featureCompatibilityVersion, which anybody may change at any time. */
async function proveVersion(parts: HeartbeatParts, role: ClusterRole): Promise<void> {
  const { pair, live, monitor, signal } = parts;
  const { commitProofs } = monitor;
  const { name } = live.current[role];
  const patience = new Patience();
  while (!signal.aborted) {
    await beat(parts, patience, async () => {
      try {
        await commitProofs.by(`version of the ${role}`, async () => {
          await checkFeatureVersion(pair.clients[name], name, pair.topologies[name], signal);
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
async function watchRecord(parts: HeartbeatParts): Promise<void> {
  const { run, live, syncStore, monitor, signal } = parts;
  const patience = new Patience();
  while (!signal.aborted) {
    await beat(parts, patience, async () => {
      const record = await monitor.commitProofs.by(
        'record',
        async () => await syncStore.record.readSyncOfPrimary(),
      );
      if (!record) return;
      monitor.commitProofs.setCommandsOnPrimary(record.commandCount);
      const isOthers =
        record.commandCount > live.stored.commandCount && live.sent?.command !== 'commit';
      if (!isOthers || live.isShared) return;
      await live.refresh();
      if (live.stored.state === 'COMMITTING') await run.fixCommitTime(signal);
    });
    await sleep(beatMs, signal).catch(() => undefined);
  }
}

async function watchSource(parts: HeartbeatParts): Promise<void> {
  const { source, live, monitor, signal, logger } = parts;
  let { phase } = live.current;
  let telling = new GrowingInterval(performance.now());
  const patience = new Patience();
  for (let beats = 0; !signal.aborted; beats++) {
    await beat(parts, patience, async () => {
      if (beats % beatsPerNoop === 0) await source.writeNoop('lag');
      monitor.latestTime = await monitor.commitProofs.by(
        'source',
        async () => await source.latestWriteTime(),
      );
      requireOplog(monitor, live);
      if (live.current.phase === 'changes') monitor.sampleCatchUp();
      if (beats % beatsPerReshardingLook === 0) await source.kind.checkResharding();
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
  { monitor, signal, logger }: HeartbeatParts,
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
    logger.debug({ reason: messageOf(error) }, 'a heartbeat failed');
  }
}

/** During the copy no change stream is open that would say so. */
function requireOplog(monitor: SyncMonitor, { current: { phase, startTime } }: LiveSync): void {
  if (phase !== 'copy' || startTime === null || !monitor.isForgotten(startTime)) return;
  throw new SyncError(
    'OplogRolledOver',
    "the source's oplog no longer holds changes since the copy began, and the copy is not complete",
  );
}
