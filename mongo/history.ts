import type { Timestamp } from 'mongodb';
import type { ClusterClient } from './cluster-client.ts';
import { isAtMost, resumeTokenTime, writeNoop } from './cluster-time.ts';
import { RawCursor } from './raw-cursor.ts';
import { codeOf, serverCode } from './server-errors.ts';

const deadlineMs = 60_000;

/**
 * True while a change stream of the whole cluster can be opened at a cluster time: its oplog, or those of all its shards, reach
 * back to it.
 */
export async function hasHistorySince(
  cluster: ClusterClient,
  time: Timestamp,
  signal: AbortSignal,
): Promise<boolean> {
  // A router returns empty batches before all shards have answered, so read on until something later appears.
  await writeNoop(cluster, 'history', signal);
  const changeStream = { allChangesForCluster: true, startAtOperationTime: time };
  const pipeline = [{ $changeStream: changeStream }, { $project: { _id: 1 } }];
  const limited = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
  try {
    await using cursor = await RawCursor.open(
      cluster.raw,
      'admin',
      { aggregate: 1, pipeline, cursor: { batchSize: 0 }, readConcern: { level: 'majority' } },
      { signal: limited, batchSize: 1, maxAwaitMs: 500 },
    );
    for (;;) {
      const batch = await cursor.next();
      const token = batch?.postBatchResumeToken;
      if (batch?.isEmpty === false || !token || !isAtMost(resumeTokenTime(token), time))
        return true;
    }
  } catch (error) {
    if (codeOf(error) === serverCode.changeStreamHistoryLost) return false;
    throw error;
  }
}
