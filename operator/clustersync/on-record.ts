import { readProgress } from '../../sync-api/syncer-answers.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import { isConditionTrue } from '../kube/conditions.ts';

/** Keeps a ClusterSync until its sync has been reset. */
export const resetFinalizer = 'clustersync.dev/reset';

/** Deleting in the foreground: Kubernetes deletes the pods first, however often they are made. */
const foregroundFinalizer = 'foregroundDeletion';

/** Whether the status says that the sync is committed in the direction that is asked for. */
export function isCommittedIn({ spec, status }: ClusterSync): boolean {
  if (!isConditionTrue(status?.conditions, 'Committed')) return false;
  return (status?.direction ?? 'Forward') === spec.direction;
}

/**
 * Whether the syncers have nothing to do any more, and all that they had to say is on record: they have no pods then. Those of a
 * reversible sync go on watching the oplog that a reversal needs.
 */
export function isAtRest(clusterSync: ClusterSync): boolean {
  const { spec, status } = clusterSync;
  if (spec.reversible || !isCommittedIn(clusterSync) || status?.canWrite === false) return false;
  const instances = status?.instances ?? [];
  return instances.every(({ progress }) => readProgress(progress)?.state === 'COMMITTED');
}

/** Whether a sync may be begun: never over data that may be in use, since a commit that is long past. */
export function mayBegin({ spec, status }: ClusterSync): boolean {
  return spec.direction === 'Forward' && status?.committedAt === undefined;
}

/** Whether a ClusterSync is deleted and the operator has nothing more to do for it. */
export function isLetGo({ metadata }: ClusterSync): boolean {
  if (metadata.deletionTimestamp === undefined) return false;
  return !(metadata.finalizers ?? []).includes(resetFinalizer);
}

/** Whether Kubernetes deletes the pods of a ClusterSync before itself. */
export function isDeletedInForeground({ metadata }: ClusterSync): boolean {
  return (metadata.finalizers ?? []).includes(foregroundFinalizer);
}
