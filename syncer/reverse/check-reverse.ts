import type { Timestamp } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { hasHistorySince } from '../../mongo/cluster-time.ts';
import { SyncError } from '../../service/errors.ts';
import { checkBalancer } from '../preflight/check-balancer.ts';
import { requireFeatureVersions, requireServerVersions } from '../preflight/check-versions.ts';
import type { Clusters, Topologies } from '../store/clusters.ts';
import { isWriteBlocked } from '../destination/destination-kind.ts';
import { checkPrivilegesFor } from '../preflight/check-privileges.ts';
import type { SyncRecord } from '../store/records.ts';
import type { RecordStore } from '../store/record-store.ts';
import { requireReplaceable } from './hand-over.ts';

/** What the check of a reversal looks at. */
export interface ReverseSubject {
  readonly record: SyncRecord;
  readonly clusters: Clusters;
  readonly topologies: Topologies;
  /** On the old source, which will get the state. */
  readonly recordOnSource: Pick<RecordStore, 'readSync'>;
  readonly signal: AbortSignal;
}

/**
 * Checks whether a committed sync can be reversed, before anything is written.
 * @throws SyncError MissingPrivileges, OtherSyncUnfinished, ServerVersionNotSupported, FeatureVersionNotSupported, BalancerRunning,
 * WritesNotBlocked or ReverseTooLate.
 */
export async function checkReverse(subject: ReverseSubject): Promise<void> {
  const { record, clusters, topologies, recordOnSource, signal } = subject;
  const { options, writableTime } = record;
  const source = clusters[options.source];
  const destination = clusters[options.destination];
  const { kind } = topologies[options.source];
  await checkPrivilegesFor(options, source, destination, signal, kind);
  requireReplaceable(await recordOnSource.readSync(), record);
  const reversed = { source: options.destination, destination: options.source };
  await requireServerVersions(clusters, topologies, reversed, signal);
  await requireFeatureVersions(clusters, topologies, reversed, signal);
  for (const name of [options.source, options.destination])
    await checkBalancer(clusters[name], name, topologies[name], signal);
  // A cluster that was unblocked since the commit may have been written to, and what would be carried back may conflict.
  if (!(await isWriteBlocked(source, kind, signal))) {
    throw new SyncError(
      'WritesNotBlocked',
      `ordinary users can write to ${options.source}: it may have changed since the commit`,
    );
  }
  if (writableTime === null) throw new Error('a committed sync without its writable time');
  await requireReach(destination, options.destination, writableTime, signal);
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
    `the oplog of ${name} no longer reaches back to the commit`,
  );
}
