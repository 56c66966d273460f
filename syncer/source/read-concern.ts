import type { Deployment } from '../../mongo/deployment.ts';
import type { Timestamp } from 'mongodb';
import { later } from '../../mongo/cluster-time.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import type { SourceContext } from './source-context.ts';

/**
 * The latest cluster time of the source that is known here: nothing that is read there may be older, whichever member or
 * router answers. A primary that has just been elected gives what it knows a majority to have, which can be less than its
 * predecessor has told of; a router asks a shard that has not heard of it. What was written between would be neither in what
 * is read nor in a change event after it. Undefined before any time is known.
 * @param times - what this read depends on besides: where change events begin, or those of an event.
 */
export function latestKnownTime(
  { monitor: { receivedTime, appliedTime } }: { readonly monitor: KnownTimes },
  ...times: readonly (Timestamp | null)[]
): Timestamp | undefined {
  let latest: Timestamp | undefined;
  for (const time of [receivedTime, appliedTime, ...times])
    if (time !== null) latest = latest === undefined ? time : later(latest, time);
  return latest;
}

type KnownTimes = Pick<SourceContext['monitor'], 'receivedTime' | 'appliedTime'>;

/**
 * How documents are read that take the place of changes: not before what is known ({@link latestKnownTime}); those of a
 * collection that is sharded on the source all at one time, as a document on its way to another shard would be seen twice, or
 * not at all.
 */
export function readConcernNow(
  context: { readonly monitor: KnownTimes; readonly source: Pick<Deployment, 'isSharded'> },
  shardKey: ShardKey | null,
  ...times: readonly (Timestamp | null)[]
): {
  readonly level: string;
  readonly afterClusterTime?: Timestamp;
} {
  const afterClusterTime = latestKnownTime(context, ...times);
  return {
    level: context.source.isSharded && shardKey !== null ? 'snapshot' : 'majority',
    ...(afterClusterTime && { afterClusterTime }),
  };
}
