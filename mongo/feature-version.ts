import type { CheckedValue } from './checked-value.ts';
import type { ClusterClient } from './cluster-client.ts';
import { runCommand } from './run-command.ts';
import type { Topology } from './topology.ts';

/** The featureCompatibilityVersion of a deployment. */
export interface FeatureVersion {
  /** Such as `6.0`. While it is being changed, the lower of the two. */
  readonly version: string;
  /** What it is being changed to; undefined if it is not. */
  readonly targetVersion: string | undefined;
}

/** The document of admin.system.version that holds it. */
const documentId = 'featureCompatibilityVersion';

/** The privilege to read it, for an error: a router has no such parameter. */
export const featureVersionRights: Readonly<Record<Topology['kind'], string>> = {
  replicaSet: 'the action getParameter on the cluster (role clusterMonitor)',
  sharded: 'the action find on admin.system.version (roles backup, restore)',
};

/**
 * Reads the featureCompatibilityVersion. For a sharded cluster it is that of the config server, which is the first to begin a
 * change of it and the last to end it; no router reports that of a single shard.
 * @throws MalformedAnswer if the answer holds none.
 */
export async function readFeatureVersion(
  { admin }: Pick<ClusterClient, 'admin'>,
  kind: Topology['kind'],
  signal: AbortSignal,
): Promise<FeatureVersion> {
  if (kind === 'replicaSet') {
    const command = { getParameter: 1, featureCompatibilityVersion: 1 };
    const answer = await runCommand(admin, command, { signal });
    return featureVersionIn(answer.field('featureCompatibilityVersion'));
  }
  const read = { find: 'system.version', filter: { _id: documentId }, singleBatch: true };
  const command = { ...read, readConcern: { level: 'majority' } };
  const answer = await runCommand(admin, command, { signal });
  return featureVersionIn(firstRow(answer));
}

function firstRow(answer: CheckedValue): CheckedValue {
  const batch = answer.field('cursor').field('firstBatch');
  const [row] = batch.list();
  if (row === undefined) throw batch.error('is empty');
  return row;
}

function featureVersionIn(value: CheckedValue): FeatureVersion {
  return {
    version: value.field('version').text(),
    targetVersion: value.optional('targetVersion')?.text(),
  };
}
