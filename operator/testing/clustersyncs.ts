import type { ClusterSync, ClusterSyncSpec } from '../api/clustersync.ts';
import { decide } from '../clustersync/decide.ts';
import { answers, clusterSync, runningWorld } from '../clustersync/testing/worlds.ts';

/** A ClusterSync with the operator's status for this stage of its sync. */
export function clusterSyncIn(
  stage: keyof typeof answers,
  spec: Partial<ClusterSyncSpec> = {},
): ClusterSync {
  const { status } = decide(clusterSync(spec), runningWorld(answers[stage]));
  return clusterSync(spec, status);
}
