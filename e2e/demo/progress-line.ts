import type { ClusterSync, InstanceStatus } from '../../operator/api/clustersync.ts';
import { countText } from '../../service/quantities.ts';
import { readProgress } from '../../sync-api/syncer-answers.ts';

const barCells = 16;

/**
 * The progress of a sync: one line with phase, bar, volume, lag, changes and coordinator. If there are several instances,
 * one more line for each, with its own share.
 */
export function progressLines({ status }: ClusterSync, writes: number): string[] {
  const {
    phase = 'Pending',
    totals = {},
    lagTimeSeconds,
    coordinatorID,
    instances = [],
  } = status ?? {};
  const progresses = instances.flatMap(({ progress }) => readProgress(progress) ?? []);
  const states = new Set(progresses.map((progress) => progress.state));
  const [state] = states.size === 1 ? states : [];
  const events = progresses.flatMap(({ totalEventsApplied }) => totalEventsApplied ?? []);
  const { percent = 0, estimatedCopiedBytes = 0, estimatedTotalBytes = 0 } = totals;
  const copied = Math.min(estimatedCopiedBytes, estimatedTotalBytes);
  const all = [
    state !== undefined && state !== phase.toUpperCase() ? `${state}, ${phase}` : phase,
    `${bar(percent)} ${String(percent).padStart(3)} %`,
    `lag ${lagTimeSeconds === undefined ? '-' : `${lagTimeSeconds} s`}`,
    `coordinator ${coordinatorID ?? '-'}`,
    `${megabytes(copied)}/${megabytes(estimatedTotalBytes)} MB`,
    changes(events),
    `${countText(writes)} writes`,
  ].join('  ');
  return instances.length > 1 ? [all, ...instances.map(instanceLine)] : [all];
}

function instanceLine({ id, ready, progress }: InstanceStatus): string {
  const read = readProgress(progress);
  const { state = ready ? '-' : 'not ready', info, lagTimeSeconds: lag } = read ?? {};
  return [
    `  ${id}${read?.coordinatorID === id ? ' (coordinator)' : ''}: ${[state, ...(info === undefined ? [] : [info])].join(', ')}`,
    `lag ${lag === undefined ? '-' : `${lag} s`}`,
    `${megabytes(read?.estimatedCopiedBytes ?? 0)} MB`,
    changes(read?.totalEventsApplied === undefined ? [] : [read.totalEventsApplied]),
  ].join('  ');
}

function changes(counts: readonly number[]): string {
  const sum = counts.reduce((total, count) => total + count, 0);
  return `${counts.length === 0 ? '-' : countText(sum)} changes applied`;
}

function bar(percent: number): string {
  const full = Math.round((percent / 100) * barCells);
  return `${'█'.repeat(full)}${'░'.repeat(barCells - full)}`;
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}
