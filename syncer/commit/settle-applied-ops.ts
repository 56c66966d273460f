import type { Timestamp } from 'mongodb';
import { retrying } from '../../mongo/retrying.ts';
import { codeOf, isTransient, serverCode } from '../../mongo/server-errors.ts';
import {
  requireNoAppliedOps,
  unreadableOplogWarning,
  type AppliedOpsContext,
} from '../source/applied-ops.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { SyncContext } from '../context/sync-context.ts';

/**
 * Lets a commit go on only when all of a replica set's oplog was looked at, from the start of the sync to the time of the commit, and
 * nobody has written there by applyOps. Where the user may not read it, or it is gone, a warning stays that says so. No router
 * shows the oplogs of shards.
 * @throws SyncError ApplyOpsOnSource.
 */
export async function settleAppliedOps(
  context: AppliedOpsContext & Pick<SyncContext, 'sourceShards' | 'logger'>,
  { current: { startTime } }: Pick<LiveSync, 'current'>,
  commitTime: Timestamp,
): Promise<void> {
  if (context.sourceShards.length > 0) return;
  if (startTime === null) throw new Error('a sync that is committed has no start time');
  const { logger, options, warn } = context;
  const settle = async (): Promise<void> => {
    try {
      await requireNoAppliedOps(context, startTime, commitTime);
      logger.info({ from: startTime, to: commitTime }, 'all of the oplog was looked at');
    } catch (error) {
      if (codeOf(error) !== serverCode.unauthorized) throw error;
      await warn(unreadableOplogWarning(options));
    }
  };
  await retrying(context, 'commit', settle, isPassing);
}

function isPassing(error: unknown): boolean {
  return isTransient(error) || codeOf(error) === serverCode.maxTimeMsExpired;
}
