import type { ClusterSync, InstanceStatus } from '../../operator/api/clustersync.ts';

const barCells = 16;

/**
 * How far a sync is, in lines: phase, bar, volume, lag, changes, coordinator; and, where there are several instances, one
 * for each, with its own share.
 */
export function progressLines({ status }: ClusterSync, writes: number): string[] {
  const {
    phase = 'Pending',
    totals = {},
    lagTimeSeconds,
    coordinatorID,
    instances = [],
  } = status ?? {};
  const states = new Set(instances.flatMap(({ progress }) => textOf(progress?.['state'])));
  const [state] = states.size === 1 ? states : [];
  const events = instances.flatMap(({ progress }) => numberOf(progress?.['totalEventsApplied']));
  const { percent = 0, estimatedCopiedBytes = 0, estimatedTotalBytes = 0 } = totals;
  const copied = Math.min(estimatedCopiedBytes, estimatedTotalBytes);
  const all = [
    state !== undefined && state !== phase.toUpperCase() ? `${state}, ${phase}` : phase,
    `${bar(percent)} ${String(percent).padStart(3)} %`,
    `lag ${lagTimeSeconds === undefined ? '-' : `${lagTimeSeconds} s`}`,
    `coordinator ${coordinatorID ?? '-'}`,
    `${megabytes(copied)}/${megabytes(estimatedTotalBytes)} MB`,
    changes(events),
    `${thousands(writes)} written`,
  ].join('  ');
  return instances.length > 1 ? [all, ...instances.map(instanceLine)] : [all];
}

function instanceLine({ id, ready, progress }: InstanceStatus): string {
  const copy = progress?.['collectionCopy'] as
    { estimatedCopiedBytes?: unknown } | null | undefined;
  const [state = ready ? '-' : 'not ready'] = textOf(progress?.['state']);
  const [copied = 0] = numberOf(copy?.estimatedCopiedBytes);
  const [lag] = numberOf(progress?.['lagTimeSeconds']);
  return [
    `  ${id}${progress?.['coordinatorID'] === id ? ' (coordinator)' : ''}: ${[state, ...textOf(progress?.['info'])].join(', ')}`,
    `lag ${lag === undefined ? '-' : `${lag} s`}`,
    `${megabytes(copied)} MB`,
    changes(numberOf(progress?.['totalEventsApplied'])),
  ].join('  ');
}

function textOf(value: unknown): readonly string[] {
  return typeof value === 'string' ? [value] : [];
}

function numberOf(value: unknown): readonly number[] {
  return typeof value === 'number' ? [value] : [];
}

function changes(counts: readonly number[]): string {
  const sum = counts.reduce((total, count) => total + count, 0);
  return `${counts.length === 0 ? '-' : thousands(sum)} changes applied`;
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
