import { optionsDigest } from '../../service/options-digest.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import type { Trouble } from '../operand/trouble.ts';
import type { InstanceView } from './instance-trouble.ts';
import { listed, startBody } from './resources.ts';
import type { SyncerProgress } from './syncer-client.ts';

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
  observation: InstanceView['observation'],
  digest: string,
): boolean {
  const { answer } = observation ?? {};
  if (answer?.kind !== 'error' || answer.optionsDigest === undefined) return false;
  return answer.optionsDigest !== digest;
}

/** @param views - the instances that work on another sync, or have. */
export function troubleOfOtherSync(views: readonly InstanceView[]): Trouble {
  const ids = views.map(({ instance }) => instance.id);
  const failed = views.flatMap(({ observation }) =>
    observation?.answer?.kind === 'error' ? [observation.answer.error] : [],
  )[0];
  const failure = failed ? `; it has failed with ${failed.name}: ${failed.description}` : '';
  return {
    reason: 'DifferentSync',
    message: `the destination holds a sync that was started with other options than this spec has (it is that of the syncer ${listed(ids)}${failure}): nothing is sent to it. To continue that sync, create the ClusterSync again with the options that it was started with; to give it up and begin with these options, ask for that with spec.startOver`,
    level: 'stalled',
  };
}
