import { SyncError } from '../../service/errors.ts';
import type { Limits } from '../../sync-api/json.ts';
import schema from '../../sync-api/start-body.schema.json' with { type: 'json' };
import type { LimitsNow } from './limit-schedule.ts';

/** The limits that instances divide, and of which one without a share would wait forever. */
const divided = [
  'maxCopyBytesPerSecond',
  'maxCopyDocumentsPerSecond',
  'maxChangesPerSecond',
] as const satisfies (keyof LimitsNow)[];

/**
 * Makes sure that each instance has at least what the schema requires of a whole sync, at any time of the day. With less, a copy
 * would start over again and again: a source closes a cursor that waits for ten minutes.
 * @param instances - how many divide the limits.
 * @throws SyncError InvalidBody with the least that this number of instances accepts.
 */
export function requireShares({ schedule = [], ...always }: Limits, instances: number): void {
  requireSharesNow('', always, instances);
  schedule.forEach((window, at) => {
    requireSharesNow(`schedule.${at}.`, window, instances);
  });
}

function requireSharesNow(path: string, limits: LimitsNow, instances: number): void {
  for (const name of divided) {
    const least = schema.definitions[name].minimum * instances;
    const limit = limits[name] ?? least;
    if (limit >= least) continue;
    throw new SyncError(
      'InvalidBody',
      `limits: ${path}${name} is ${limit}, and ${instances} instances need at least ${least}: they divide it evenly`,
    );
  }
}
