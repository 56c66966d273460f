import { createClusterClient, type ClusterClient } from '../../mongo/cluster-client.ts';
import type { Asker, Topology } from '../../mongo/topology.ts';
import type { ClusterName } from '../options/start-body.ts';
import type { SyncerOptions } from '../options/syncer-options.ts';

/** The two clusters of a syncer by the names of their options; which of them is the source, the sync says. */
export type Clusters = Readonly<Record<ClusterName, ClusterClient>>;
export type Topologies = Readonly<Record<ClusterName, Topology>>;

/** Who asks the servers, and whether by files of this machine. */
export function askerOf({ id, connectionFiles }: SyncerOptions): Asker {
  return { appName: `clustersync syncer ${id}`, refusesFiles: connectionFiles === 'refuse' };
}

/** Makes the clients of both clusters. Nothing is connected before the first command. */
export function createClusters(options: SyncerOptions): Clusters {
  const client = (option: ClusterName): ClusterClient =>
    createClusterClient({ uri: options[option], option, ...askerOf(options) });
  return { cluster0: client('cluster0'), cluster1: client('cluster1') };
}
