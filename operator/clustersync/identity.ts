import { optionsDigest } from '../../sync-api/options-digest.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import type { Observation } from '../operand/observation.ts';
import { startBody } from './resources.ts';
import type { SyncerCommand, SyncerProgress } from './syncer-client.ts';

/** The sync that a ClusterSync asks for: the digest of its start command. */
export function wantedDigest(clusterSync: Pick<ClusterSync, 'spec'>): string {
  return optionsDigest(startBody(clusterSync));
}

/**
 * Whether an instance works on a sync that was started with other options, for another ClusterSync or by hand. Unknown for a tool that
 * does not report its options.
 */
export function isOfOtherSync(progress: SyncerProgress | undefined, digest: string): boolean {
  if (progress?.optionsDigest === undefined || progress.state === 'IDLE') return false;
  return progress.optionsDigest !== digest;
}

/** Whether an instance reports the failure of another sync, which is not a failure of this one. */
export function isFailureOfOtherSync(
  observation: Observation<SyncerProgress, SyncerCommand> | undefined,
  digest: string,
): boolean {
  const { answer } = observation ?? {};
  if (answer?.kind !== 'error' || answer.optionsDigest === undefined) return false;
  return answer.optionsDigest !== digest;
}
