import { defaultOptions } from '../../sync-api/testing/start-examples.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import type { Topologies } from '../store/clusters.ts';
import { newRecord, type SyncRecord } from '../store/records.ts';

const topology = {
  kind: 'replicaSet',
  setName: 'x',
  host: 'x:1',
  version: '6.0.5',
  shards: [],
} as const;
const topologies: Topologies = {
  cluster0: { ...topology, clusterId: 'zero' },
  cluster1: { ...topology, clusterId: 'one' },
};
const options: StartOptions = {
  source: 'cluster0',
  destination: 'cluster1',
  ...defaultOptions,
  enableUserWriteBlocking: true,
  reversible: true,
};

/** The record of a new reversible sync of two replica sets, from cluster0 to cluster1. */
export function reversibleSync(): SyncRecord {
  return newRecord(options, topologies, 'syncer');
}
