import type { StartOptions, ClusterName } from '../options/start-body.ts';
import type { Topologies } from './clusters.ts';
import type { ClusterRecord, SyncRecord } from './records.ts';

/**
 * The record of a sync that begins now, by a start that one of its instances was given: the one that is called as a
 * shard of the source works for that shard, beside one for each other shard; any other works for all.
 */
export function newRecord(options: StartOptions, topologies: Topologies, id: string): SyncRecord {
  const cluster = (name: ClusterName): ClusterRecord => ({
    name,
    clusterId: topologies[name].clusterId,
  });
  const { kind, shards } = topologies[options.source];
  const instances = kind === 'sharded' && shards.includes(id) ? shards : [id];
  return {
    state: 'RUNNING',
    phase: 'catalog',
    instances,
    command: 'start',
    commandCount: 1,
    formerState: 'IDLE',
    received: instances.map((instance) => (instance === id ? 1 : 0)),
    paused: [],
    catalogEvent: null,
    reversals: 0,
    options,
    source: cluster(options.source),
    destination: cluster(options.destination),
    startedAt: new Date(),
    startTime: null,
    catalogTimes: [],
    estimatedTotalBytes: null,
    ownsCatalog: false,
    collectionCount: null,
    commitTime: null,
    isFixingCommitTime: false,
    writableTime: null,
    canWrite: false,
    failure: null,
    reset: null,
    warnings: [],
  };
}
