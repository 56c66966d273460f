import { createClusterClient, type ClusterClient } from '../../mongo/cluster-client.ts';
import { deploymentOf, type Deployment } from '../../mongo/deployment.ts';
import { NamespaceFilter, serverMatcher } from '../../mongo/namespace-filter.ts';
import type { Asker, Topology } from '../../mongo/topology.ts';
import type { ClusterName, StartOptions } from '../options/command-bodies.ts';
import type { SyncerOptions } from '../options/syncer-options.ts';
import { RecordStore } from './record-store.ts';
import type { SyncRecord } from './records.ts';
import { SyncStore } from './store.ts';

/** The two clusters of a syncer by the names of their options; the sync says which of them is the source. */
export type Clusters = Readonly<Record<ClusterName, ClusterClient>>;
export type Topologies = Readonly<Record<ClusterName, Topology>>;

/** How the connections of every instance of a syncer are named, before its id. */
export const syncerName = 'clustersync syncer ';

/** Which instance asks the servers, and whether it uses files of this machine. */
export function askerOf({ id, connectionFiles }: SyncerOptions): Asker {
  return { appName: `${syncerName}${id}`, refusesFiles: connectionFiles === 'refuse' };
}

/** Creates the clients of both clusters. Nothing connects before the first command. */
export function createClusters(options: SyncerOptions): Clusters {
  const client = (option: ClusterName): ClusterClient =>
    createClusterClient({ uri: options[option], option, ...askerOf(options) });
  return { cluster0: client('cluster0'), cluster1: client('cluster1') };
}

/** The two clusters that an instance syncs between, connected and identified, and the state that each of them may hold. */
export class ClusterPair {
  readonly clients: Clusters;
  readonly topologies: Topologies;
  /** The instance that reads and writes their state. */
  readonly instanceId: string;
  /** Aborted when the program stops. */
  readonly signal: AbortSignal;

  constructor(clients: Clusters, topologies: Topologies, instanceId: string, signal: AbortSignal) {
    this.clients = clients;
    this.topologies = topologies;
    this.instanceId = instanceId;
    this.signal = signal;
  }

  /** The same two, for work that ends earlier: when this signal is aborted, too. */
  until(signal: AbortSignal): ClusterPair {
    const { clients, topologies, instanceId } = this;
    return new ClusterPair(clients, topologies, instanceId, AbortSignal.any([this.signal, signal]));
  }

  /** A cluster with its detected properties. */
  deployment(name: ClusterName): Deployment {
    return deploymentOf(this.clients[name], this.topologies[name]);
  }

  /** The record of a sync on a cluster. */
  recordOn(name: ClusterName): RecordStore {
    return new RecordStore(this.clients[name], this.instanceId, this.signal);
  }

  /** The state on a cluster: each call returns another store, with its own ownership. */
  storeOn(name: ClusterName, signal = this.signal): SyncStore {
    return new SyncStore(this.clients[name], this.instanceId, signal);
  }

  /** The filter of a sync: what the patterns match depends on its source. */
  filterOf(options: StartOptions): NamespaceFilter {
    return new NamespaceFilter(options, serverMatcher(this.clients[options.source], this.signal));
  }

  /**
   * The stored record of a sync between the two: of two records the one with more reversals.
   * @param on - the clusters that may hold it.
   */
  async findRecord(
    on: readonly ClusterName[] = ['cluster1', 'cluster0'],
  ): Promise<SyncRecord | undefined> {
    const records = await Promise.all(
      on.map(async (name) => {
        const record = await this.recordOn(name).readSync();
        return record && this.isBetween(record, name) ? record : undefined;
      }),
    );
    const [record] = records
      .filter((found) => found !== undefined)
      .sort((left, right) => right.reversals - left.reversals);
    return record;
  }

  /** True for the record of a sync between these two deployments with this destination. */
  isBetween({ source, destination }: SyncRecord, destinationName: ClusterName): boolean {
    const { topologies } = this;
    return (
      destination.name === destinationName &&
      topologies[destination.name].clusterId === destination.clusterId &&
      topologies[source.name].clusterId === source.clusterId
    );
  }
}
