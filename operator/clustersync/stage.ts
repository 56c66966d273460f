import type { Direction } from '../api/clustersync.ts';
import { isOfOtherSync } from './identity.ts';
import type { SyncerProgress } from './syncer-client.ts';

/** How far an instance has got, judged only by its progress. */
export type Stage =
  | 'unknown'
  /** It works on another sync than the requested one: its progress says nothing about this one. */
  | 'different'
  | 'idle'
  /** It goes in the other direction, or is committed in the other direction. */
  | 'reversing'
  | 'copy'
  | 'changes'
  | 'committing'
  | 'committed';

const order: readonly Stage[] = [
  'unknown',
  'different',
  'idle',
  'reversing',
  'copy',
  'changes',
  'committing',
  'committed',
];

/** What is requested. */
export interface Wanted {
  readonly direction: Direction;
  /** Of the options of the sync. */
  readonly digest: string;
}

/** The stage that a progress shows, on the way to what is requested. */
export function stageOf(
  progress: SyncerProgress | undefined,
  { direction, digest }: Wanted,
): Stage {
  if (isOfOtherSync(progress, digest)) return 'different';
  if (isTheOtherWay(progress, direction)) return 'reversing';
  switch (progress?.state ?? '') {
    case 'IDLE':
      return 'idle';
    case 'REVERSING':
      return 'reversing';
    case 'COMMITTED':
      return 'committed';
    case 'COMMITTING':
      return 'committing';
    case 'RUNNING':
    case 'PAUSED':
      return stageOfRunning(progress);
    // A process that has not answered, or does not yet know its own state.
    default:
      return 'unknown';
  }
}

/** Whether a sync goes in another direction than the requested one. */
export function isTheOtherWay(progress: SyncerProgress | undefined, direction: Direction): boolean {
  return progress?.direction !== undefined && progress.direction !== direction;
}

/**
 * Whether an instance is known to work in another direction than the requested one without being reversed: only a committed sync is
 * reversed. An instance that hands over a sync to be reversed also reports that it applies changes, and that it cannot be committed.
 */
export function isAtWorkTheOtherWay(
  progress: SyncerProgress | undefined,
  direction: Direction,
): boolean {
  if (!isTheOtherWay(progress, direction)) return false;
  const isCopying = progress?.info === 'collection copy';
  return progress?.state === 'RUNNING' && (progress.canCommit || isCopying);
}

/**
 * The instances without a commit that others have accepted before the opposite direction was requested: the commit is theirs, too.
 * A syncer knows whether that is so. Of a tool that does not say, one that can be committed is taken for one of them: an instance
 * that hands over a sync to be reversed cannot.
 */
export function lackingCommit(
  progresses: readonly (SyncerProgress | undefined)[],
  { direction, digest }: Wanted,
): readonly SyncerProgress[] {
  const others = progresses
    .filter((progress) => progress !== undefined)
    .filter((progress) => isTheOtherWay(progress, direction));
  const isGiven = (progress: SyncerProgress): boolean =>
    isAtLeast(
      stageOf(progress, { digest, direction: progress.direction ?? direction }),
      'committing',
    );
  if (!others.some(isGiven)) return [];
  return others.filter((progress) => {
    const { state, canCommit, commitUnderWay } = progress;
    if (isGiven(progress)) return false;
    if (commitUnderWay === undefined) return state === 'RUNNING' && canCommit;
    return commitUnderWay && (state === 'RUNNING' || state === 'PAUSED');
  });
}

/** The stage of a sync: that of the instance furthest behind. */
export function slowest(stages: readonly Stage[]): Stage {
  const places = stages.map((stage) => order.indexOf(stage));
  return order[Math.min(...places)] ?? 'unknown';
}

/** Whether a stage is this one or a later one. */
export function isAtLeast(stage: Stage, other: Stage): boolean {
  return order.indexOf(stage) >= order.indexOf(other);
}

/** Whether all documents are copied: a reversed sync was copied before, and copies nothing again. */
export function isCopied(stage: Stage): boolean {
  return stage === 'reversing' || isAtLeast(stage, 'changes');
}

function stageOfRunning(progress: SyncerProgress | undefined): Stage {
  if (progress?.canCommit === true) return 'changes';
  switch (progress?.info ?? '') {
    case 'change event application':
      return 'changes';
    case 'waiting for commit to complete':
    case 'commit completed':
      return 'committing';
    default:
      return 'copy';
  }
}
