import { SyncError } from '../../service/errors.ts';
import type { ScopeRecord } from '../store/records.ts';

/** Reasons that a message tells of many. */
const maxReasons = 5;

/** The first reasons, and how many more there are. */
export function shownReasons(reasons: readonly string[]): string {
  const more = reasons.length > maxReasons ? `; and ${reasons.length - maxReasons} more` : '';
  return reasons.slice(0, maxReasons).join('; ') + more;
}

/** What a verification ends with in which nothing differs, and something is not proven to be equal. */
export function notProven(what: string, reasons: readonly string[]): SyncError {
  return new SyncError(
    'CheckFailed',
    `${what}: ${shownReasons(reasons)}. Make sure that nothing writes to either side, then start another verification`,
  );
}

/** What a verification ends with that has nothing to compare at its end: `equal` would say nothing of the data that was meant. */
export function nothingCompared({ includeNamespaces, excludeNamespaces }: ScopeRecord): SyncError {
  const isOfAll = includeNamespaces === null && excludeNamespaces === null;
  return new SyncError(
    'CheckFailed',
    isOfAll
      ? 'neither side has a collection or view to compare. Make sure that the connection strings name the clusters that are meant, then start another verification'
      : 'the filter selects no namespace on either side. Correct the filter, then start another verification',
  );
}
