import type { StartOptions, ClusterName } from '../api/start-body.ts';
import type { Topologies } from '../clusters.ts';
import type { ClusterRecord, SyncRecord } from '../state/records.ts';

/** The record of a sync that begins now. */
export function newRecord(options: StartOptions, topologies: Topologies): SyncRecord {
  const cluster = (name: ClusterName): ClusterRecord => ({
    name,
    clusterId: topologies[name].clusterId,
  });
  return {
    state: 'RUNNING',
    phase: 'catalog',
    reversals: 0,
    options,
    source: cluster(options.source),
    destination: cluster(options.destination),
    startedAt: new Date(),
    startTime: null,
    catalogTimes: [],
    estimatedTotalBytes: null,
    commitTime: null,
    writableTime: null,
    canWrite: false,
    failure: null,
    warnings: [],
  };
}
