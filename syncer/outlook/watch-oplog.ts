import { Timestamp, type Document } from 'mongodb';
import { runCommand, type ClusterClient } from '../../mongo/cluster-client.ts';
import { latestWriteTime } from '../../mongo/cluster-time.ts';
import { codeOf } from '../../mongo/server-errors.ts';
import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { sleep } from '../../service/sleep.ts';
import type { SyncMonitor } from '../monitor.ts';
import type { OplogReading } from './oplog-history.ts';
import { oplogWarnings } from './oplog-outlook.ts';

const intervalMs = 2_000;
const deadlineMs = 10_000;

/** The least time that entries are kept does not change often, and is dear to ask for. */
const readingsPerRetention = 30;

/** What watching an oplog needs. */
export interface OplogWatchParts {
  /** The source whose oplog matters now; undefined where none does. */
  readonly source: () => ClusterClient | undefined;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Reads how far the source's oplog reaches every other second, until the signal is aborted. Where the user may not read
 * `local`, there are no readings. Says in the log when the oplog becomes short, and when it is long enough again. It never fails.
 */
export async function watchOplog(parts: OplogWatchParts): Promise<void> {
  const { source, logger, signal } = parts;
  let retention = { source: undefined as ClusterClient | undefined, hours: 0, readings: 0 };
  let isToldOf = false;
  const isStopped = (): boolean => signal.aborted;
  while (!isStopped()) {
    const cluster = source();
    try {
      if (cluster === undefined) {
        takeReading(parts, undefined);
      } else {
        if (retention.source !== cluster || retention.readings >= readingsPerRetention)
          retention = { source: cluster, hours: await minRetention(cluster, signal), readings: 0 };
        retention.readings++;
        const reading = await readOplog(cluster, retention.hours, signal);
        if (reading && source() === cluster) takeReading(parts, reading);
      }
    } catch (error) {
      if (codeOf(error) !== undefined && !isToldOf && !isStopped()) {
        isToldOf = true;
        logger.info(
          { reason: messageOf(error) },
          "how far the source's oplog reaches is not known",
        );
      } else {
        logger.debug({ reason: messageOf(error) }, "the source's oplog could not be looked at");
      }
    }
    await sleep(intervalMs, signal).catch(() => undefined);
  }
}

function takeReading(
  { monitor, logger }: OplogWatchParts,
  reading: OplogReading | undefined,
): void {
  const before = monitor.oplogState;
  monitor.addOplogReading(reading);
  const { oplogState: now, oplogSecondsLeft: secondsLeft } = monitor;
  if (now === before) return;
  const warning = now === null ? undefined : oplogWarnings[now];
  if (warning !== undefined) logger.warn({ warning, secondsLeft }, 'warning');
  else if (before === 'short')
    logger.info({ secondsLeft }, "the source's oplog is long enough again");
}

async function readOplog(
  cluster: ClusterClient,
  minRetentionHours: number,
  signal: AbortSignal,
): Promise<OplogReading | undefined> {
  const local = cluster.decoded.db('local');
  const call = { signal, deadlineMs };
  const latest = await latestWriteTime(cluster, signal);
  const found = await runCommand(
    local,
    {
      find: 'oplog.rs',
      sort: { $natural: 1 },
      limit: 1,
      singleBatch: true,
      projection: { ts: 1 },
      readConcern: { level: 'local' },
    },
    call,
  );
  const [oldest] = (found['cursor'] as { readonly firstBatch: Document[] }).firstBatch;
  const stats = await runCommand(local, { collStats: 'oplog.rs' }, call);
  const first: unknown = oldest?.['ts'];
  const writtenBytes = writtenBytesOf(stats);
  if (!(first instanceof Timestamp) || writtenBytes === undefined) return undefined;
  return {
    atMs: performance.now(),
    first,
    latest,
    sizeBytes: Number(stats['size']),
    maxBytes: Number(stats['maxSize']),
    writtenBytes,
    minRetentionHours,
  };
}

/** What the storage engine has counted since the server was started (WiredTiger's statistics of the oplog's table). */
function writtenBytesOf({ wiredTiger }: Document): number | undefined {
  const { cursor } = (wiredTiger ?? {}) as { cursor?: Record<string, unknown> };
  const bytes = cursor?.['insert key and value bytes'];
  return bytes === undefined ? undefined : Number(bytes);
}

/** What serverStatus shows of `storage.oplogMinRetentionHours`. */
async function minRetention(cluster: ClusterClient, signal: AbortSignal): Promise<number> {
  const status = await runCommand(
    cluster.admin,
    { serverStatus: 1, metrics: 0, wiredTiger: 0, tcmalloc: 0, locks: 0, transactions: 0 },
    { signal, deadlineMs },
  );
  const { oplogMinRetentionHours } = (status['oplogTruncation'] ?? {}) as Record<string, unknown>;
  return Number(oplogMinRetentionHours ?? 0);
}
