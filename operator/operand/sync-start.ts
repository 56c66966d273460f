import { numberOf, objectOf, textOf } from '../../service/json-fields.ts';
import { countOf } from '../../service/quantities.ts';
import type { ClusterSync } from '../api/clustersync.ts';

/** What a status has room for. */
const maxStartLength = 64;

/** Between the start of a sync and how often it was reversed. */
const reversed = ', reversed ';

/**
 * When the sync of a ClusterSync was started, and how often it was reversed since, where it was: tells it from one that was there
 * before, for this ClusterSync or for a former one of its name. It is what the instances say; with a tool that does not tell it,
 * when the operator has first seen the sync. Undefined as long as there is none.
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
