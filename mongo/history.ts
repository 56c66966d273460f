import type { Timestamp } from 'mongodb';
import type { ClusterClient } from './cluster-client.ts';
import { RawCursor } from './raw-cursor.ts';
import { codeOf, serverCode } from './server-errors.ts';

/** True while a change stream of the whole cluster can be opened at a cluster time: its oplog reaches back to it. */
export async function hasHistorySince(
  { raw }: ClusterClient,
  time: Timestamp,
  signal: AbortSignal,
): Promise<boolean> {
  const changeStream = { allChangesForCluster: true, startAtOperationTime: time };
  // Nothing has this operation type: only the beginning of the history is of interest.
  const pipeline = [{ $changeStream: changeStream }, { $match: { operationType: 'none' } }];
  try {
    await using cursor = await RawCursor.open(
      raw,
      'admin',
      { aggregate: 1, pipeline, cursor: { batchSize: 0 }, readConcern: { level: 'majority' } },
      { signal, maxAwaitMs: 1 },
    );
    await cursor.next();
    await cursor.next();
    return true;
  } catch (error) {
    if (codeOf(error) === serverCode.changeStreamHistoryLost) return false;
    throw error;
  }
}
