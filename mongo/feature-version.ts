import type { Document } from 'mongodb';
import type { ClusterClient } from './cluster-client.ts';
import { runCommand } from './run-command.ts';
import type { Topology } from './topology.ts';

/** The featureCompatibilityVersion of a deployment. */
export interface FeatureVersion {
  /** As `6.0`. While it is being changed, the lower of the two. */
  readonly version: string;
  /** What it is being changed to; undefined where it is not. */
  readonly targetVersion: string | undefined;
}

/** The document of admin.system.version that holds it. */
const documentId = 'featureCompatibilityVersion';

/** What a user needs to read it, for an error: a router has no such parameter. */
export const featureVersionRights: Readonly<Record<Topology['kind'], string>> = {
  replicaSet: 'the action getParameter on the cluster (role clusterMonitor)',
  sharded: 'the action find on admin.system.version (roles backup, restore)',
};

/**
 * Reads the featureCompatibilityVersion. Of a sharded cluster it is that of the config server, which is the first to begin a
 * change of it and the last to end it; no router tells that of a single shard.
 * @throws Error where the answer holds none.
 */
export async function readFeatureVersion(
  { admin }: Pick<ClusterClient, 'admin'>,
  kind: Topology['kind'],
  signal: AbortSignal,
): Promise<FeatureVersion> {
  if (kind === 'replicaSet') {
    const command = { getParameter: 1, featureCompatibilityVersion: 1 };
    const answer = await runCommand(admin, command, { signal });
    return featureVersionIn(answer['featureCompatibilityVersion']);
  }
  const read = { find: 'system.version', filter: { _id: documentId }, singleBatch: true };
  const command = { ...read, readConcern: { level: 'majority' } };
  const answer = await runCommand(admin, command, { signal });
  return featureVersionIn((answer['cursor'] as { firstBatch: unknown[] }).firstBatch[0]);
}

/** @throws Error where there is no version. */
function featureVersionIn(value: unknown): FeatureVersion {
  const { version, targetVersion } = (value ?? {}) as Document;
  if (typeof version !== 'string')
    throw new Error(`no featureCompatibilityVersion in ${JSON.stringify(value)}`);
  return {
    version,
    targetVersion: targetVersion === undefined ? undefined : String(targetVersion),
  };
}
