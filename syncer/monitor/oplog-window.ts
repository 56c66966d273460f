import type { Timestamp } from 'mongodb';
import { isAtMost, secondsBetween } from '../../mongo/cluster-time.ts';
import type { ClusterName } from '../options/command-bodies.ts';
import type { SyncRecord } from '../store/records.ts';
import type { OplogHistory } from './oplog-history.ts';

/** Larger values are reported as this. */
const maxSeconds = 365 * 24 * 3600;

/** An oplog that lasts for less is short: somebody needs time to act. */
const shortSeconds = 3600;

/** A short oplog is enough again only once it lasts longer by this factor. */
const relief = 1.25;

/**
 * Whether the oplog reaches far enough: `short` if it lasts for less than an hour or for less than twice the lag, `lost` if it
 * no longer holds what the sync needs, `unknown` if nobody can say.
 */
export type OplogState = 'enough' | 'short' | 'lost' | 'unknown';

/**
 * Seconds until the oplog no longer reaches back to `needed`, at its rate of writing. Null while that is unknown; never more
 * than a year; 0 if it is so already.
 */
export function oplogSecondsLeft(history: OplogHistory, needed: Timestamp): number | null {
  const { latest: reading, bytesPerSecond } = history;
  const neededBytes = history.bytesAt(needed);
  if (reading === undefined || neededBytes === undefined) return null;
  if (isLost(history, needed)) return 0;
  if (bytesPerSecond === null) return null;
  const bytesLeft = Math.max(0, reading.maxBytes - (reading.writtenBytes - neededBytes));
  const bySize = bytesPerSecond === 0 ? maxSeconds : bytesLeft / bytesPerSecond;
  const byAge = reading.minRetentionHours * 3600 - secondsBetween(needed, reading.latest);
  // An oplog that is already too full is not truncated immediately.
  return Math.floor(Math.min(maxSeconds, Math.max(1, bySize, byAge)));
}

/** True if the oldest entry is later than what is needed. */
export function isLost({ latest: reading }: OplogHistory, needed: Timestamp): boolean {
  return reading !== undefined && !isAtMost(reading.first, needed);
}

/** @param before - the previous state, null at first. */
export function oplogState(
  secondsLeft: number | null,
  lagSeconds: number,
  before: OplogState | null,
): OplogState | null {
  if (secondsLeft === null) return null;
  if (secondsLeft === 0) return 'lost';
  const threshold = Math.max(shortSeconds, 2 * lagSeconds);
  return secondsLeft < (before === 'short' ? threshold * relief : threshold) ? 'short' : 'enough';
}

/** Which oplog the sync needs, and from when on. */
export interface NeededOplog {
  readonly cluster: ClusterName;
  readonly from: Timestamp;
  readonly purpose: 'sync' | 'reversal';
}

/**
 * The oplog is needed from where the sync is until everything is applied, whether it is running or paused; the destination's,
 * after a commit that can be reversed, from where users could write there.
 * @param appliedTime - how far changes are applied, null while unknown.
 */
export function neededOplog(
  record: Pick<
    SyncRecord,
    'phase' | 'source' | 'destination' | 'options' | 'startTime' | 'writableTime'
  >,
  appliedTime: Timestamp | null,
): NeededOplog | undefined {
  const { phase, source, destination, options, startTime, writableTime } = record;
  switch (phase) {
    case 'catalog':
      return undefined;
    case 'copy':
    case 'preparing':
      return startTime ? { cluster: source.name, from: startTime, purpose: 'sync' } : undefined;
    case 'changes': {
      const from = appliedTime ?? startTime;
      return from ? { cluster: source.name, from, purpose: 'sync' } : undefined;
    }
    case 'restoring':
    case 'done':
    case 'handover':
      return options.reversible && writableTime
        ? { cluster: destination.name, from: writableTime, purpose: 'reversal' }
        : undefined;
  }
}

/** The warning about it, without figures, so that the text stays as long as it is true; mostly none. */
export function oplogWarning(
  state: OplogState | null,
  { cluster, purpose }: Pick<NeededOplog, 'cluster' | 'purpose'>,
): string | undefined {
  switch (state) {
    case null:
    case 'enough':
      return undefined;
    case 'short':
      return `the oplog of ${cluster} runs short: at the current rate it soon loses changes that the ${purpose} needs; enlarge it (replSetResizeOplog)`;
    case 'lost':
      return `the oplog of ${cluster} no longer holds all changes that the ${purpose} needs`;
    case 'unknown':
      return `how long the oplog of ${cluster} lasts is unknown: it or its statistics cannot be read (local.oplog.rs); there will be no warning before it loses changes that the ${purpose} needs`;
  }
}
