import { readProgress } from '../../sync-api/syncer-answers.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import { isConditionTrue } from '../kube/conditions.ts';

/** Keeps a ClusterSync until its sync has been reset. */
export const resetFinalizer = 'clustersync.dev/reset';

/** Foreground deletion: Kubernetes deletes the pods first, however often they are created. */
const foregroundFinalizer = 'foregroundDeletion';

/** Whether the status says that the sync is committed in the requested direction. */
export function isCommittedIn({ spec, status }: ClusterSync): boolean {
  if (!isConditionTrue(status?.conditions, 'Committed')) return false;
  return (status?.direction ?? 'Forward') === spec.direction;
}

/**
 * Whether the syncers have nothing left to do, and everything they had to report is recorded: then they have no pods. Those of a
 * reversible sync keep watching the oplog that a reversal needs.
 */
export function isAtRest(clusterSync: ClusterSync): boolean {
  const { spec, status } = clusterSync;
  if (spec.reversible || !isCommittedIn(clusterSync) || status?.canWrite === false) return false;
  const instances = status?.instances ?? [];
  return instances.every(({ progress }) => readProgress(progress)?.state === 'COMMITTED');
}

/** Whether a sync may be started: never over data that may be in use since a commit long ago. */
export function mayBegin({ spec, status }: ClusterSync): boolean {
  return spec.direction === 'Forward' && status?.committedAt === undefined;
}

/** Whether a ClusterSync is being deleted and the operator has nothing more to do for it. */
export function isLetGo({ metadata }: ClusterSync): boolean {
  if (metadata.deletionTimestamp === undefined) return false;
  return !(metadata.finalizers ?? []).includes(resetFinalizer);
}

/** Whether Kubernetes deletes the pods of a ClusterSync before the ClusterSync itself. */
export function isDeletedInForeground({ metadata }: ClusterSync): boolean {
  return (metadata.finalizers ?? []).includes(foregroundFinalizer);
}

/** Whether a ClusterSync has another spec by now, is being deleted, or is gone. @param newest - as the cache has it now. */
export function isReplaced(
  { metadata }: Pick<ClusterSync, 'metadata'>,
  newest: Pick<ClusterSync, 'metadata'> | undefined,
): boolean {
  // The API server counts a deletion that waits for finalizers, too.
  return (
    newest?.metadata.uid !== metadata.uid || newest?.metadata.generation !== metadata.generation
  );
}
