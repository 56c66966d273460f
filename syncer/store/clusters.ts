import { createClusterClient, type ClusterClient } from '../../mongo/cluster-client.ts';
import { connectionOf, type Connection } from '../../mongo/connection.ts';
import { deploymentOf, type Deployment } from '../../mongo/deployment.ts';
import { NamespaceFilter, serverMatcher } from '../../mongo/namespace-filter.ts';
import type { Asker, Topology } from '../../mongo/topology.ts';
import type { ClusterName, StartOptions } from '../options/command-bodies.ts';
import type { SyncerOptions } from '../options/syncer-options.ts';
import { requireMember } from './instances.ts';
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

/** How a cluster is reached. @throws SyncError InvalidOption. */
export function clusterConnection(option: ClusterName, options: SyncerOptions): Connection {
  return connectionOf(option, options, { option, uri: options[option] });
}

/** Creates the clients of both clusters. Nothing connects before the first command. */
export function createClusters(options: SyncerOptions): Clusters {
  const client = (option: ClusterName): ClusterClient =>
    createClusterClient({
      ...{ option, ...askerOf(options) },
      ...clusterConnection(option, options),
    });
  return { cluster0: client('cluster0'), cluster1: client('cluster1') };
}

/** What a process calls itself, and all that work with it; `ids` is undefined if it knows its own name only. */
export interface InstanceNames {
  readonly id: string;
  readonly ids: readonly string[] | undefined;
}

/** The two clusters that an instance syncs between, connected and identified, and the state that each of them may hold. */
export class ClusterPair {
  readonly clients: Clusters;
  readonly topologies: Topologies;
  /** The instance that reads and writes their state. */
  readonly instanceId: string;
  /** Aborted when the program stops. */
  readonly signal: AbortSignal;
  /** The names of all instances that the process was started with; undefined if it knows its own only. */
  readonly ids: readonly string[] | undefined;

  constructor(
    clients: Clusters,
    topologies: Topologies,
    instance: InstanceNames,
    signal: AbortSignal,
  ) {
    this.clients = clients;
    this.topologies = topologies;
    this.instanceId = instance.id;
    this.ids = instance.ids;
    this.signal = signal;
  }

  /** This process has taken the place of the one before: what that one has sent to either cluster arrives within 30 s from now. */
  takeOver(): void {
    const { cluster0, cluster1 } = this.clients;
    for (const { formerConnections } of [cluster0, cluster1]) formerConnections.takeOver();
  }

  /** Another process may have had the place since: what it has sent to either cluster may still arrive. */
  forgetFormerConnections(): void {
    const { cluster0, cluster1 } = this.clients;
    for (const { formerConnections } of [cluster0, cluster1]) formerConnections.forget();
  }

  /** The same two, for work that ends earlier: when this signal is aborted, too. */
  until(signal: AbortSignal): ClusterPair {
    const { clients, topologies, instanceId: id, ids } = this;
    const either = AbortSignal.any([this.signal, signal]);
    return new ClusterPair(clients, topologies, { id, ids }, either);
  }

  /** A cluster with its detected properties. */
  deployment(name: ClusterName): Deployment {
    return deploymentOf(this.clients[name], this.topologies[name]);
  }

  /**
   * Makes sure that this process is one of the instances of a sync, as {@link requireMember} does: whatever takes up a stored sync
   * asks that first.
   * @throws SyncError NotAnInstance.
   */
  requireMember(record: SyncRecord): void {
    requireMember(record, this.instanceId, this.ids);
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
    return countingRecord(records.filter((found) => found !== undefined));
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

/** Of the records of a sync that both clusters hold, as during a reversal, the one that counts; undefined if there is none. */
export function countingRecord(records: readonly SyncRecord[]): SyncRecord | undefined {
  return records.toSorted((left, right) => right.reversals - left.reversals)[0];
}
