import { optionsDigest } from '../../service/options-digest.ts';
import { numberOf, objectOf, textOf } from '../../service/json-fields.ts';
import { countOf } from '../../service/quantities.ts';
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

/** What a status has room for. */
const maxStartLength = 64;

/** Between the start of a sync and how often it was reversed. */
const reversed = ', reversed ';

/**
 * When the sync of a ClusterSync was started, and how often it was reversed since, where it was: tells it from one that was there
 * before, for this ClusterSync or for a former one of its name. It is what the instances say; with a tool that does not tell it, when the operator has first seen the sync. Undefined
 * as long as there is none.
 * @param progresses - of the instances, as they were received.
 * @param seenAt - `startedAt` of the status.
 */
export function syncStartOf(
  progresses: readonly unknown[],
  seenAt: string | undefined,
): string | undefined {
  const isTold = progresses.some((each) => objectOf(each)['startedAt'] !== undefined);
  if (!isTold) return seenAt;
  return progresses
    .map(startIn)
    .find((start) => start !== undefined && start.length <= maxStartLength);
}

function startIn(progress: unknown): string | undefined {
  const told = objectOf(progress);
  const start = textOf(told['startedAt']);
  const reversals = numberOf(told['reversals']) ?? 0;
  if (start === undefined || reversals === 0) return start;
  return `${start}${reversed}${countOf(reversals, 'time')}`;
}

/** Whether two of {@link syncStartOf} are of one sync, which was reversed between them, or not. */
export function isOneSync(one: string | undefined, other: string | undefined): boolean {
  return one?.split(reversed)[0] === other?.split(reversed)[0];
}

/** The sync that a ClusterSync has, by its status: see {@link syncStartOf}. */
export function syncOnRecord({ status }: ClusterSync): string | undefined {
  const progresses = status?.instances?.map(({ progress }) => progress) ?? [];
  return syncStartOf(progresses, status?.startedAt);
}
