import { isDeepStrictEqual } from 'node:util';
import { Patience } from '../../mongo/patience.ts';
import { isTransient } from '../../mongo/server-errors.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { sleep } from '../../service/sleep.ts';
import type { Destination } from '../destination/destination.ts';
import type { ClusterRole } from '../monitor/commit-word.ts';
import { measureLoad, type MeasuredSide } from '../limits/measure-load.ts';
import type { Pace } from '../limits/pace.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { GrowingInterval, summaryOf } from '../monitor/progress-log.ts';
import {
  checkFeatureVersion,
  requireFeatureVersionPair,
  type Versioned,
} from '../preflight/check-versions.ts';
import { followsResharding } from '../ddl/follow-resharding.ts';
import { watchAppliedOps } from '../changes/watch-applied-ops.ts';
import type { Source } from '../source/source.ts';
import type { ClusterPair } from '../store/clusters.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { SyncStore } from '../store/store.ts';
import type { SyncRun } from './run-sync.ts';

const beatMs = 1_000;

/** Every this many beats, a no-op write on the source keeps the lag of an idle source honest. */
const beatsPerNoop = 10;

/** How often to ask the source whether collections were resharded, in beats. */
const beatsPerReshardingLook = 5;

/** Several fit into the time for which a process relies on one (InstanceOwnership). */
const heartbeatMs = 5_000;

/** How often to measure the servers, if the limits ask for it. */
const measureMs = 2_000;

/** What the heartbeat keeps alive, and with what. */
interface HeartbeatParts {
  readonly run: SyncRun;
  readonly source: Source;
  readonly destination: Destination;
  readonly live: LiveSync;
  readonly syncStore: SyncStore;
  readonly pair: ClusterPair;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly pace: Pace;
  readonly signal: AbortSignal;
}

/**
 * Keeps the figures of a sync fresh until its signal is aborted: the source's latest write, and no-op writes there. A slow
 * destination must not make the lag look small, so these run separately: the heartbeat in the store, and the proofs that a
 * commit would be accepted. Logs the figures at intervals.
 * @throws SyncError SupersededByOtherInstance; OplogRolledOver as soon as a copy is known to be useless; ChangeNotSupported if
 * a collection was resharded; ApplyOpsOnSource.
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
    proveVersions(own),
    keepPace(own),
    keepMeasuring(own),
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
 * Proves that a majority of the destination, of each of its shards, accepts writes. The next write is sent only after an
 * answer, however long that takes: otherwise they would pile up.
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

/**
 * Checks whether a commit would be refused because of a cluster's featureCompatibilityVersion, which anybody may change at any
 * time. That of the destination is proven only against the source's.
 */
async function proveVersions(parts: HeartbeatParts): Promise<void> {
  const patience = new Patience();
  while (!parts.signal.aborted) {
    await beat(parts, patience, async () => {
      const from = await proveVersion(parts, 'source', () => undefined);
      if (!from) return;
      await proveVersion(parts, 'destination', (to) => {
        requireFeatureVersionPair(from, to);
      });
    });
    await sleep(beatMs, parts.signal).catch(() => undefined);
  }
}

/** Returns the version of a cluster; undefined if it is refused. @param require - what else has to hold. */
async function proveVersion(
  { pair, live, monitor, signal }: HeartbeatParts,
  role: ClusterRole,
  require: (version: Versioned) => void,
): Promise<Versioned | undefined> {
  const { commitProofs } = monitor;
  const { name } = live.current[role];
  try {
    const version = await commitProofs.by(`version of the ${role}`, async () => {
      const found = await checkFeatureVersion(
        pair.clients[name],
        name,
        pair.topologies[name],
        signal,
      );
      require(found);
      return found;
    });
    commitProofs.setVersionRefusal(role, undefined);
    return version;
  } catch (error) {
    if (!(error instanceof SyncError) || isTransient(error)) throw error;
    commitProofs.setVersionRefusal(role, error);
    return undefined;
  }
}

/**
 * Reads the record as the destination's primary has it: a commit that waits for a majority appears in no other read. Adopts one
 * that a previous process has sent, and that arrived late.
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
      if (!isDeepStrictEqual(record.limits, live.stored.limits)) await live.refresh();
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
  const { source, destination, live, monitor, signal, logger } = parts;
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
      const looks = beats % beatsPerReshardingLook === 0;
      if (looks && !(await followsResharding(source, destination)))
        await source.kind.checkResharding();
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

/** Keeps the limits of the work what they are to be now. */
async function keepPace({ pace, signal, logger }: HeartbeatParts): Promise<void> {
  let told: readonly string[] = [];
  while (!signal.aborted) {
    pace.update();
    for (const warning of pace.warnings)
      if (!told.includes(warning)) logger.warn({ warning }, 'warning');
    told = pace.warnings;
    await sleep(beatMs, signal).catch(() => undefined);
  }
}

/**
 * Measures the servers while the limits ask for it, even while a commit is under way: that says which brakes it lifts. Nothing that
 * was measured before counts: it may have been in the other direction, or long ago.
 */
async function keepMeasuring({ pace, pair, live, signal, logger }: HeartbeatParts): Promise<void> {
  const side = (role: ClusterRole): MeasuredSide => {
    const { name } = live.current[role];
    return { cluster: pair.clients[name], kind: pair.topologies[name].kind };
  };
  pace.forgetMeasured();
  let told = '';
  while (!signal.aborted) {
    const { holdBack } = pace;
    if (holdBack) {
      const sides = { source: side('source'), destination: side('destination') };
      const readings = await measureLoad(holdBack, sides, signal).catch(() => undefined);
      if (readings) pace.measured(readings);
    }
    const brakes = pace.measuredBrakes;
    const now = brakes.map((brake) => `${brake.limit} ${brake.side}`).join();
    if (now !== told) logger.info({ brakes }, now === '' ? 'released' : 'held back');
    told = now;
    await sleep(measureMs, signal).catch(() => undefined);
  }
}

/** One beat: a temporary error is left to the next one. */
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

/** During the copy no change stream is open that would report this. */
function requireOplog(monitor: SyncMonitor, { current: { phase, startTime } }: LiveSync): void {
  if (phase !== 'copy' || startTime === null || !monitor.isForgotten(startTime)) return;
  throw new SyncError(
    'OplogRolledOver',
    "the source's oplog no longer holds changes since the copy began, and the copy is not complete",
  );
}
