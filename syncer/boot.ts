import { connectCluster, type ClusterClient } from '../mongo/cluster-client.ts';
import { latestWriteTime } from '../mongo/cluster-time.ts';
import { namedError } from '../mongo/named-error.ts';
import { readTopology, type Topology } from '../mongo/topology.ts';
import type { SyncError } from '../service/errors.ts';
import type { Logger } from '../service/logger.ts';
import { backoffMs, sleep } from '../service/sleep.ts';
import type { ClusterName } from './api/start-body.ts';
import { blockedText, withBlocked } from './commit/write-blocking.ts';
import type { Clusters, Topologies } from './clusters.ts';
import type { SyncMonitor } from './monitor.ts';
import type { SyncRecord } from './state/records.ts';
import type { SyncStore } from './state/store.ts';

/** What a process finds when it starts. */
export interface StoredState {
  readonly topologies: Topologies;
  /** Undefined when there is no sync between these two clusters. */
  readonly record: SyncRecord | undefined;
}

/**
 * Connects to both clusters, and reads what is stored of a sync between them. While it is being reversed it may be on
 * both: the one with more reversals counts. To be repeated until it succeeds.
 * @throws SyncError for a cluster that cannot be reached. Where the other one holds a sync that keeps users from writing, it
 *   says so.
 */
export async function readStoredState(
  clusters: Clusters,
  storeOn: (cluster: ClusterName) => SyncStore,
  signal: AbortSignal,
): Promise<StoredState> {
  const connect = async (name: ClusterName): Promise<Topology> => {
    await connectCluster(clusters[name], signal);
    return await readTopology(clusters[name], signal);
  };
  const blockedBySyncOn = async (name: ClusterName): Promise<string | undefined> => {
    const { clusterId } = await connect(name);
    const record = await storeOn(name).readSync();
    const isItsOwn =
      record?.destination.name === name && record.destination.clusterId === clusterId;
    return isItsOwn ? blockedText(record) : undefined;
  };
  const reach = async (name: ClusterName, other: ClusterName): Promise<Topology> => {
    try {
      return await connect(name);
    } catch (error) {
      const blocked = await blockedBySyncOn(other).catch(() => undefined);
      throw withBlocked(namedError(error), blocked);
    }
  };
  const topologies = {
    cluster0: await reach('cluster0', 'cluster1'),
    cluster1: await reach('cluster1', 'cluster0'),
  };
  return { topologies, record: await findRecord(topologies, storeOn) };
}

/**
 * The record of a sync between these clusters: of two the one with more reversals.
 * @param on - the clusters that it may be on.
 */
export async function findRecord(
  topologies: Topologies,
  storeOn: (cluster: ClusterName) => Pick<SyncStore, 'readSync'>,
  on: readonly ClusterName[] = ['cluster1', 'cluster0'],
): Promise<SyncRecord | undefined> {
  const records = await Promise.all(
    on.map(async (name) => {
      const record = await storeOn(name).readSync();
      return record && isBetween(topologies, record, name) ? record : undefined;
    }),
  );
  const [record] = records
    .filter((found) => found !== undefined)
    .sort((left, right) => right.reversals - left.reversals);
  return record;
}

/** Shows the figures of a stored sync as they were, so that progress tells the truth from its first answer on. */
export async function recall(
  monitor: SyncMonitor,
  { startTime }: SyncRecord,
  store: SyncStore,
  source: ClusterClient,
  signal: AbortSignal,
): Promise<void> {
  const instance = await store.readInstance();
  if (instance) monitor.beginWork({ ...instance, restarts: instance.claims - 1 });
  monitor.appliedTime = instance?.appliedTime ?? startTime;
  monitor.latestTime = await latestWriteTime(source, signal);
}

/**
 * Tries to boot until that succeeds, or the signal is aborted.
 * @param onFailure - told each time why it has not succeeded yet.
 */
export async function untilBooted(
  logger: Logger,
  signal: AbortSignal,
  boot: () => Promise<void>,
  onFailure: (error: SyncError) => void,
): Promise<void> {
  const isStopped = (): boolean => signal.aborted;
  for (let attempt = 0; !isStopped(); attempt++) {
    try {
      await boot();
      return;
    } catch (error) {
      if (isStopped()) return;
      const named = namedError(error);
      onFailure(named);
      const { name, message } = named;
      logger.warn({ attempt, error: name, reason: message }, 'cannot read the stored state');
      const pauseMs = backoffMs(attempt, { baseMs: 500, maxMs: 10_000 });
      await sleep(pauseMs, signal).catch(() => undefined);
    }
  }
}

/** True for the record of a sync between these two clusters with this destination. */
export function isBetween(
  topologies: Topologies,
  { source, destination }: SyncRecord,
  destinationName: ClusterName,
): boolean {
  return (
    destination.name === destinationName &&
    topologies[destination.name].clusterId === destination.clusterId &&
    topologies[source.name].clusterId === source.clusterId
  );
}
