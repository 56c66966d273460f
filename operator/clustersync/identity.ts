import { optionsDigest } from '../../service/options-digest.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import type { Observation } from '../operand/observation.ts';
import { startBody } from './resources.ts';
import type { SyncerCommand, SyncerProgress } from './syncer-client.ts';

/** Which sync a ClusterSync asks for: the digest of the start that is sent for it. */
export function wantedDigest(clusterSync: Pick<ClusterSync, 'spec'>): string {
  return optionsDigest(startBody(clusterSync));
}

/**
 * Whether an instance works on a sync that was started with other options, for another ClusterSync or by hand. Of a tool that does
 * not tell its options nothing is known.
 */
export function isOfOtherSync(progress: SyncerProgress | undefined, digest: string): boolean {
  if (progress?.optionsDigest === undefined || progress.state === 'IDLE') return false;
  return progress.optionsDigest !== digest;
}

/** Whether what an instance reports is the failure of another sync: that is not this one's. */
export function isFailureOfOtherSync(
  observation: Observation<SyncerProgress, SyncerCommand> | undefined,
  digest: string,
): boolean {
  const { answer } = observation ?? {};
  if (answer?.kind !== 'error' || answer.optionsDigest === undefined) return false;
  return answer.optionsDigest !== digest;
}
