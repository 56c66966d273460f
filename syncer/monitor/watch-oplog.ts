import type { CheckedValue } from '../../mongo/checked-value.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { latestWriteTime } from '../../mongo/cluster-time.ts';
import { oldestEntryTime } from '../../mongo/oplog.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { sleep } from '../../service/sleep.ts';
import type { ClusterName } from '../options/command-bodies.ts';
import type { Clusters } from '../store/clusters.ts';
import type { SyncMonitor } from './monitor.ts';
import type { OplogReading } from './oplog-history.ts';
import { oplogWarning, type NeededOplog } from './oplog-window.ts';

const intervalMs = 2_000;
const deadlineMs = 10_000;

/** How many rounds to wait before retrying what the user may not read: a role may be granted. */
const roundsBetweenRefusals = 30;

/** The minimum retention of entries rarely changes, and is expensive to read. */
const readingsPerRetention = 30;

/**
 * Reads how far the oplog that the sync needs reaches every other second, until the signal is aborted. If the user may not read
 * `local`, nothing is known of it, which is logged once. Logs when the oplog becomes short, and when it is long enough again.
 * It never fails.
 * @param needed - which oplog matters now; undefined if none does.
 */
export async function watchOplog(
  needed: () => NeededOplog | undefined,
  clusters: Clusters,
  monitor: SyncMonitor,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const isStopped = (): boolean => signal.aborted;
  const takeReading = (cluster: ClusterName, reading: OplogReading): void => {
    const now = needed();
    // During the read, the sync moved on to where another oplog matters, or none.
    if (now?.cluster !== cluster) return;
    const before = monitor.oplogState;
    monitor.addOplogReading(reading, now.from);
    const { oplogState: state, oplogSecondsLeft: secondsLeft } = monitor;
    if (state === before) return;
    const warning = oplogWarning(state, now);
    if (warning !== undefined) logger.warn({ warning, secondsLeft }, 'warning');
    else if (before === 'short' || before === 'unknown')
      logger.info({ cluster, secondsLeft }, 'the oplog window is large enough again');
  };
  let watched: ClusterName | undefined;
  let retention = { hours: 0, readings: 0 };
  let isToldOf = false;
  let roundsToWait = 0;
  while (!isStopped()) {
    const cluster = needed()?.cluster;
    if (cluster !== watched) {
      monitor.forgetOplog();
      watched = cluster;
      retention = { hours: 0, readings: 0 };
      roundsToWait = 0;
    }
    try {
      if (cluster !== undefined) monitor.seekOplog();
      if (cluster !== undefined && roundsToWait-- <= 0) {
        if (retention.readings % readingsPerRetention === 0)
          retention.hours = await minRetention(clusters[cluster], signal);
        retention.readings++;
        const reading = await readOplog(clusters[cluster], retention.hours, signal);
        if (reading) takeReading(cluster, reading);
      }
    } catch (error) {
      if (isRefused(error)) {
        monitor.refuseOplog();
        roundsToWait = roundsBetweenRefusals;
        logger[isToldOf ? 'debug' : 'warn'](
          { cluster, reason: messageOf(error) },
          'the oplog window is unknown',
        );
        isToldOf = true;
      } else if (!isStopped()) {
        logger.debug({ cluster, reason: messageOf(error) }, 'the oplog could not be read');
      }
    }
    await sleep(intervalMs, signal).catch(() => undefined);
  }
}

async function readOplog(
  cluster: ClusterClient,
  minRetentionHours: number,
  signal: AbortSignal,
): Promise<OplogReading | undefined> {
  const local = cluster.decoded.db('local');
  const call = { signal, deadlineMs };
  const latest = await latestWriteTime(cluster, signal);
  const first = await oldestEntryTime(cluster, signal);
  const stats = await runCommand(local, { collStats: 'oplog.rs' }, call);
  const writtenBytes = writtenBytesOf(stats);
  if (writtenBytes === undefined) return undefined;
  return {
    atMs: performance.now(),
    first,
    latest,
    sizeBytes: stats.field('size').count(),
    maxBytes: stats.field('maxSize').count(),
    writtenBytes,
    minRetentionHours,
  };
}

/** What the storage engine has counted since the server was started (WiredTiger's statistics of the oplog's table). */
function writtenBytesOf(stats: CheckedValue): number | undefined {
  const cursor = stats.optional('wiredTiger')?.optional('cursor');
  return cursor?.optional('insert key and value bytes')?.count();
}

/** The `storage.oplogMinRetentionHours` in serverStatus; none if the user may not read it. */
async function minRetention(cluster: ClusterClient, signal: AbortSignal): Promise<number> {
  try {
    const status = await runCommand(
      cluster.admin,
      { serverStatus: 1, metrics: 0, wiredTiger: 0, tcmalloc: 0, locks: 0, transactions: 0 },
      { signal, deadlineMs },
    );
    // Storage engines other than WiredTiger have no such section.
    return status.optional('oplogTruncation')?.optional('oplogMinRetentionHours')?.number() ?? 0;
  } catch (error) {
    if (isRefused(error)) return 0;
    throw error;
  }
}

function isRefused(error: unknown): boolean {
  return codeOf(error) === serverCode.unauthorized;
}
