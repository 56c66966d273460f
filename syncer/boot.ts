import { connectCluster } from '../mongo/cluster-client.ts';
import { readTopology } from '../mongo/topology.ts';
import type { ClusterName } from './api/start-body.ts';
import type { Clusters, Topologies } from './clusters.ts';
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
 */
export async function readStoredState(
  clusters: Clusters,
  storeOn: (cluster: ClusterName) => SyncStore,
  signal: AbortSignal,
): Promise<StoredState> {
  for (const cluster of [clusters.cluster0, clusters.cluster1])
    await connectCluster(cluster, signal);
  const topologies = {
    cluster0: await readTopology(clusters.cluster0, signal),
    cluster1: await readTopology(clusters.cluster1, signal),
  };
  const records = await Promise.all(
    (['cluster1', 'cluster0'] as const).map(async (name) => {
      const record = await storeOn(name).readSync();
      return record && isBetween(topologies, record, name) ? record : undefined;
    }),
  );
  const [record] = records
    .filter((found) => found !== undefined)
    .sort((left, right) => right.reversals - left.reversals);
  return { topologies, record };
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
