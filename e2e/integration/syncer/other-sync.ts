import type { Topology } from '../../../mongo/topology.ts';
import { parseStartBody } from '../../../syncer/options/command-bodies.ts';
import { newRecord, type ClusterRecord, type SyncRecord } from '../../../syncer/store/records.ts';
import { forward } from './cluster-pair.ts';

/** The record of a sync between other deployments than a test's, as it is stored. @param side - what both its sides are. */
export function otherSync(side: ClusterRecord): SyncRecord & { readonly _id: string } {
  const topology: Topology = {
    kind: 'replicaSet',
    ...{ setName: 'other', host: 'other:27017', version: '6.0.5' },
    ...{ shards: ['other'], clusterId: side.clusterId },
  };
  const topologies = { cluster0: topology, cluster1: topology };
  const record = newRecord(parseStartBody(forward), topologies, 'other');
  return { ...record, _id: 'sync', source: side, destination: side, startedAt: new Date(0) };
}
