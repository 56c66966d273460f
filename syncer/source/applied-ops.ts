import { Timestamp } from 'mongodb';
import { isAtMost, secondsBetween } from '../../mongo/cluster-time.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import {
  findAppliedOps,
  hidesAppliedOps,
  oldestEntryTime,
  type AppliedOps,
  type OplogRange,
} from '../../mongo/oplog.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { SyncError } from '../../service/errors.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import type { NamespaceFilter } from '../../mongo/namespace-filter.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';

/** The longest span that one command reads: the server gives up after a while. */
const maxSpanSeconds = 3600;
const maxTimeMs = 10_000;

/** How far the search may be behind the changes that are applied: each look comes seconds after the one before. */
const maxUnreadSeconds = 60;

const maxOrdinal = 0xff_ff_ff_ff;

/** What a warning names as unnoticed. */
const unnoticed =
  'writes of clients by the command applyOps, which do not appear in change streams, are neither synced nor detected';

/** What the check needs. */
export interface AppliedOpsContext {
  readonly source: Deployment;
  readonly options: Pick<StartOptions, 'source'>;
  readonly filter: NamespaceFilter;
  /** What the sync knows of the source's collections. */
  readonly catalog: TrackedCatalog;
  readonly monitor: Pick<SyncMonitor, 'appliedOpsTime' | 'appliedTime'>;
  readonly warn: (warning: string) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Makes sure that nobody has used applyOps to write to what is synced from a replica set: no change stream reports such writes.
 * Reads all of the oplog that was not read before: `monitor.appliedOpsTime` is the end of what was. A warning reports what the
 * oplog no longer holds by then.
 * @param startTime - where the sync begins.
 * @param to - a time that a majority has.
 * @throws SyncError ApplyOpsOnSource.
 */
export async function requireNoAppliedOps(
  context: AppliedOpsContext,
  startTime: Timestamp,
  to: Timestamp,
): Promise<void> {
  const { source, monitor, signal } = context;
  if (!(await hidesAppliedOps(source, signal))) {
    await warnOfUnread(context, later(startTime, monitor.appliedOpsTime));
    monitor.appliedOpsTime = to;
    return;
  }
  let spanSeconds = maxSpanSeconds;
  for (;;) {
    const from = later(startTime, monitor.appliedOpsTime);
    if (isAtMost(to, from)) return;
    const range = { from, to: endOf({ from, to }, spanSeconds) };
    try {
      await lookAt(context, range);
    } catch (error) {
      // The caller tries the shortest one again.
      if (codeOf(error) !== serverCode.maxTimeMsExpired || spanSeconds === 1) throw error;
      spanSeconds = Math.ceil(spanSeconds / 4);
      continue;
    }
    // Only now is it certain that all of it was there.
    const oldest = await oldestEntryTime(source, signal);
    if (!isAtMost(oldest, from)) await context.warn(gapWarning(context, { from, to: oldest }));
    monitor.appliedOpsTime = later(range.to, oldest);
  }
}

/**
 * The warning for a user who may not read the oplog.
 * @param cluster - the source.
 */
export function unreadableOplogWarning({ source }: Pick<StartOptions, 'source'>): string {
  return `the user of ${source} may not read local.oplog.rs (as the roles backup and clusterMonitor allow): ${unnoticed}`;
}

/**
 * Change streams show everything now. If changes were applied that come long after what was read of the oplog, servers that hid
 * something may have sent them, before they were upgraded.
 * @param readTo - the end of what was read.
 */
async function warnOfUnread(context: AppliedOpsContext, readTo: Timestamp): Promise<void> {
  const { appliedTime } = context.monitor;
  if (appliedTime === null || secondsBetween(readTo, appliedTime) <= maxUnreadSeconds) return;
  const [from, to] = [readTo, appliedTime].map(timeText);
  await context.warn(
    `the oplog of ${context.options.source} between ${from} and ${to} was not read, and its servers may have been upgraded since: ${unnoticed}`,
  );
}

function gapWarning({ options }: AppliedOpsContext, { from, to }: OplogRange): string {
  return `the oplog of ${options.source} between ${timeText(from)} and ${timeText(to)} was gone before it was read: ${unnoticed}`;
}

async function lookAt(context: AppliedOpsContext, range: OplogRange): Promise<void> {
  const { source, options, signal } = context;
  for await (const applied of findAppliedOps(source, range, { signal, maxTimeMs })) {
    const namespace = await syncedTarget(context, applied);
    if (namespace === undefined) continue;
    throw new SyncError(
      'ApplyOpsOnSource',
      `a client has written to ${namespace} on ${options.source} by the command applyOps at ${timeText(applied.time)}, which does not appear in change streams: the destination lacks it`,
    );
  }
}

/** The first synced collection that was written to; if it was renamed since, its UUID identifies it. */
async function syncedTarget(
  { filter, catalog }: AppliedOpsContext,
  { targets }: AppliedOps,
): Promise<string | undefined> {
  for (const { namespace, uuidHex } of targets) {
    const isTracked = uuidHex !== undefined && catalog.collection(uuidHex) !== undefined;
    if (isTracked || (await filter.selects(namespace))) return namespaceText(namespace);
  }
  return undefined;
}

/** The end of a range, or of a span from its start if that comes first. */
export function endOf({ from, to }: OplogRange, spanSeconds: number): Timestamp {
  const end = new Timestamp({ t: from.t + spanSeconds, i: maxOrdinal });
  return isAtMost(to, end) ? to : end;
}

function later(one: Timestamp, other: Timestamp | null): Timestamp {
  return other === null || isAtMost(other, one) ? one : other;
}

function timeText({ t }: Timestamp): string {
  return new Date(t * 1000).toISOString();
}
