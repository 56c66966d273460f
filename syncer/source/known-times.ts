import type { Timestamp } from 'mongodb';
import { later } from '../../mongo/cluster-time.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';

/** How far the source is known to be. */
export type KnownTimes = Pick<SyncMonitor, 'receivedTime' | 'appliedTime'>;

/**
 * The latest cluster time of the source that is known here: nothing that is read there may be older, whichever member or
 * router answers. A primary that has just been elected gives what it knows a majority to have, which can be less than its
 * predecessor has told of; a router asks a shard that has not heard of it. What was written between would be neither in what
 * is read nor in a change event after it. Undefined before any time is known.
 * @param times - what this read depends on besides: where change events begin, or those of an event.
 */
export function latestKnownTime(
  { receivedTime, appliedTime }: KnownTimes,
  ...times: readonly (Timestamp | null)[]
): Timestamp | undefined {
  let latest: Timestamp | undefined;
  for (const time of [receivedTime, appliedTime, ...times])
    if (time !== null) latest = latest === undefined ? time : later(latest, time);
  return latest;
}

/** How much of the source a read sees at one time: `snapshot` is all of it, from every shard. */
export type ReadLevel = 'majority' | 'snapshot';

/** A read concern that is not before what is known ({@link latestKnownTime}). */
export function readConcernNow(
  known: KnownTimes,
  level: ReadLevel,
  ...times: readonly (Timestamp | null)[]
): { readonly level: ReadLevel; readonly afterClusterTime?: Timestamp } {
  const afterClusterTime = latestKnownTime(known, ...times);
  return { level, ...(afterClusterTime && { afterClusterTime }) };
}
