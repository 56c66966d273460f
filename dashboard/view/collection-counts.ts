import { countOf, countText } from '../../service/quantities.ts';
import type { CollectionsView } from '../api/sync-view.ts';

type Counts = Pick<CollectionsView, 'copied' | 'total' | 'isExact'>;

/** How many collections are copied, of how many. */
export function copiedOfTotal({ copied, total, isExact }: Counts): string {
  const least = isExact ? '' : 'at least ';
  return `${least}${countText(copied)} of ${least}${countText(total)}`;
}

/** The counts of the card of the collections, and what they do not include; empty while nothing is listed. */
export function collectionsText({
  unknownInstances,
  ...counts
}: Omit<CollectionsView, 'collections'>): string {
  const { total, copied, isExact } = counts;
  if (total === 0) return '';
  const areAll = copied === total && !isExact;
  const text = areAll
    ? `all copied, at least ${countText(total)}`
    : `${copiedOfTotal(counts)} copied`;
  if (unknownInstances === 0) return text;
  const verb = unknownInstances === 1 ? 'lists' : 'list';
  return `${text}; ${countOf(unknownInstances, 'instance')} ${verb} none`;
}
