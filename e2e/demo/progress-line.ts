import type { ClusterSync } from '../../operator/api/clustersync.ts';

const barCells = 24;

/** One line that says how far a sync is: phase, bar, volume, lag, changes, coordinator. */
export function progressLine({ status }: ClusterSync, writes: number): string {
  const { phase = 'Pending', totals = {}, lagTimeSeconds, coordinatorID } = status ?? {};
  const progress = status?.instances?.[0]?.progress;
  const state = progress?.['state'];
  const events = progress?.['totalEventsApplied'];
  const { percent = 0, estimatedCopiedBytes = 0, estimatedTotalBytes = 0 } = totals;
  return [
    `${phase}${typeof state === 'string' ? ` (${state})` : ''}`,
    `${bar(percent)} ${String(percent).padStart(3)} %`,
    `${megabytes(Math.min(estimatedCopiedBytes, estimatedTotalBytes))} of ${megabytes(estimatedTotalBytes)} MB`,
    `lag ${lagTimeSeconds === undefined ? '-' : `${lagTimeSeconds} s`}`,
    `${typeof events === 'number' ? thousands(events) : '-'} changes applied`,
    `coordinator ${coordinatorID ?? '-'}`,
    `the application: ${thousands(writes)} writes`,
  ].join('  ');
}

function bar(percent: number): string {
  const full = Math.round((percent / 100) * barCells);
  return `${'█'.repeat(full)}${'░'.repeat(barCells - full)}`;
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

/** 1234567 -> 1,234,567 */
export function thousands(number: number): string {
  return number.toLocaleString('en-GB');
}
