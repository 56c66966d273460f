import { SyncError } from '../../service/errors.ts';

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
