import type { Timestamp } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { hasHistorySince } from '../../mongo/history.ts';
import { SyncError } from '../../service/errors.ts';
import type { Clusters } from '../clusters.ts';
import { checkPrivilegesFor } from '../preflight.ts';
import type { SyncRecord } from '../state/records.ts';
import type { SyncStore } from '../state/store.ts';
import { requireReplaceable } from './hand-over.ts';

/** `userWriteBlockMode` of serverStatus when ordinary users cannot write. */
const blockedMode = 2;

/**
 * Looks whether a committed sync can be reversed, before anything is written.
 * @param storeOnSource - the store on the old source, where the state is going to be.
 * @throws SyncError MissingPrivileges, OtherSyncUnfinished, WritesNotBlocked or ReverseTooLate.
 */
export async function checkReverse(
  record: SyncRecord,
  clusters: Clusters,
  storeOnSource: SyncStore,
  signal: AbortSignal,
): Promise<void> {
  const { options, writableTime } = record;
  const source = clusters[options.source];
  const destination = clusters[options.destination];
  await checkPrivilegesFor(options, source, destination, signal, { isSharded: false });
  requireReplaceable(await storeOnSource.readSync(), record);
  await requireBlocked(source, options.source, signal);
  if (writableTime === null) throw new Error('a committed sync without its writable time');
  await requireReach(destination, options.destination, writableTime, signal);
}

/** A cluster that was unblocked since the commit may have been written to: what would be carried back may not fit. */
async function requireBlocked(
  cluster: ClusterClient,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const status = await runCommand(cluster.admin, { serverStatus: 1, repl: 1 }, { signal });
  const { userWriteBlockMode } = status['repl'] as { userWriteBlockMode?: unknown };
  if (Number(userWriteBlockMode) === blockedMode) return;
  throw new SyncError(
    'WritesNotBlocked',
    `ordinary users can write to ${name}: it may have changed since the commit`,
  );
}

async function requireReach(
  cluster: ClusterClient,
  name: string,
  time: Timestamp,
  signal: AbortSignal,
): Promise<void> {
  if (await hasHistorySince(cluster, time, signal)) return;
  throw new SyncError(
    'ReverseTooLate',
    `the oplog of ${name} does not reach back to the commit any more`,
  );
}
