import { numberOf, objectOf, textOf } from '../../service/json-fields.ts';
import { countOf } from '../../service/quantities.ts';
import type { ClusterSync } from '../api/clustersync.ts';

/** The limit of the status. */
const maxStartLength = 64;

/** Separates the start of a sync from the number of its reversals. */
const reversed = ', reversed ';

/**
 * When the sync of a ClusterSync was started, and how often it was reversed since, if it was: tells it from an earlier sync of this
 * ClusterSync, or of a previous one of its name. The instances report it; for a tool that does not, it is when the operator first saw
 * the sync. Undefined as long as there is none.
 * @param progresses - of the instances, as received.
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

/** Whether two values of {@link syncStartOf} belong to one sync, possibly reversed in between. */
export function isOneSync(one: string | undefined, other: string | undefined): boolean {
  return one?.split(reversed)[0] === other?.split(reversed)[0];
}

/** The sync of a ClusterSync, according to its status: see {@link syncStartOf}. */
export function syncOnRecord({ status }: ClusterSync): string | undefined {
  const progresses = status?.instances?.map(({ progress }) => progress) ?? [];
  return syncStartOf(progresses, status?.startedAt);
}
