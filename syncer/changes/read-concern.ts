import type { Timestamp } from 'mongodb';
import type { ShardKey } from '../../mongo/shard-key.ts';
import type { SyncContext } from '../sync-context.ts';

/**
 * How documents are read that take the place of changes: not older than any of these, whichever member or router answers;
 * those of a collection that is sharded on the source all at one time, as a document on its way to another shard would be seen
 * twice, or not at all.
 */
export function readConcernNow(
  { monitor: { receivedTime }, sourceShards }: Pick<SyncContext, 'monitor' | 'sourceShards'>,
  shardKey: ShardKey | null,
): {
  readonly level: string;
  readonly afterClusterTime?: Timestamp;
} {
  return {
    level: sourceShards.length > 0 && shardKey !== null ? 'snapshot' : 'majority',
    ...(receivedTime && { afterClusterTime: receivedTime }),
  };
}
