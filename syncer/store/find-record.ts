import type { ClusterName } from '../options/start-body.ts';
import type { Topologies } from './clusters.ts';
import type { SyncRecord } from './records.ts';
import type { SyncStore } from './store.ts';

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
