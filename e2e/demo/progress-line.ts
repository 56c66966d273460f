import type { ClusterSync } from '../../operator/api/clustersync.ts';

const barCells = 16;

/** One line that says how far a sync is: phase, bar, volume, lag, changes, coordinator. */
export function progressLine({ status }: ClusterSync, writes: number): string {
  const { phase = 'Pending', totals = {}, lagTimeSeconds, coordinatorID } = status ?? {};
  const progress = status?.instances?.[0]?.progress;
  const state = progress?.['state'];
  const events = progress?.['totalEventsApplied'];
  const { percent = 0, estimatedCopiedBytes = 0, estimatedTotalBytes = 0 } = totals;
  const copied = Math.min(estimatedCopiedBytes, estimatedTotalBytes);
  return [
    typeof state === 'string' && state !== phase.toUpperCase() ? `${state}, ${phase}` : phase,
    `${bar(percent)} ${String(percent).padStart(3)} %`,
    `lag ${lagTimeSeconds === undefined ? '-' : `${lagTimeSeconds} s`}`,
    `coordinator ${coordinatorID ?? '-'}`,
    `${megabytes(copied)}/${megabytes(estimatedTotalBytes)} MB`,
    `${typeof events === 'number' ? thousands(events) : '-'} changes applied`,
    `${thousands(writes)} written`,
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
