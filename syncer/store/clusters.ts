import { createClusterClient, type ClusterClient } from '../../mongo/cluster-client.ts';
import type { Topology } from '../../mongo/topology.ts';
import type { ClusterName } from '../options/start-body.ts';
import type { SyncerOptions } from '../options/syncer-options.ts';

/** The two clusters of a syncer by the names of their options; which of them is the source, the sync says. */
export type Clusters = Readonly<Record<ClusterName, ClusterClient>>;
export type Topologies = Readonly<Record<ClusterName, Topology>>;

/** How the servers know a process: the name of its connections. */
export function appNameOf({ id }: Pick<SyncerOptions, 'id'>): string {
  return `clustersync syncer ${id}`;
}

/** Makes the clients of both clusters. Nothing is connected before the first command. */
export function createClusters(options: SyncerOptions): Clusters {
  const client = (option: ClusterName): ClusterClient =>
    createClusterClient({
      uri: options[option],
      option,
      appName: appNameOf(options),
      refusesFiles: options.connectionFiles === 'refuse',
    });
  return { cluster0: client('cluster0'), cluster1: client('cluster1') };
}
