import { SyncError } from '../../service/errors.ts';
import type { SyncRecord } from './records.ts';

/** Why nothing else is done with a sync that is being reset; undefined where it is not. */
export function resetError({
  reset,
  instances,
}: Pick<SyncRecord, 'reset' | 'instances'>): SyncError | undefined {
  if (reset === null) return undefined;
  const waitsFor = resetWaitsFor(instances, reset);
  return new SyncError(
    'ResetUnderWay',
    `the sync is being reset, with the destination ${reset.destination}${waitsFor === undefined ? '' : `: ${waitsFor}`}`,
  );
}

/** What a reset waits for before anything is done; undefined when the work of every instance has ended. */
export function resetWaitsFor(
  instances: readonly string[],
  { received, ended }: NonNullable<SyncRecord['reset']>,
): string | undefined {
  const missing = instances.filter((id) => !received.includes(id));
  if (missing.length > 0)
    return `${missing.join(' and ')} ${missing.length === 1 ? 'has' : 'have'} not been given reset`;
  const working = instances.filter((id) => !ended.includes(id));
  if (working.length > 0)
    return `${working.join(' and ')} ${working.length === 1 ? 'has' : 'have'} not ended the work`;
  return undefined;
}
