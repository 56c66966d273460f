import type { SyncRow } from '../api/sync-view.ts';

/** A step of a sync. */
export interface Step {
  readonly name: string;
  readonly state: 'done' | 'current' | 'paused' | 'stalled' | 'waiting';
  /** ISO times; null if unknown, or not reached yet. */
  readonly from: string | null;
  readonly to: string | null;
}

type Milestones = Pick<
  SyncRow,
  'phase' | 'isReversed' | 'createdAt' | 'startedAt' | 'copiedAt' | 'committedAt'
>;

/** The steps of a sync, from its creation to its end, and where it is. */
export function timelineOf(sync: Milestones): readonly Step[] {
  const { createdAt, startedAt, copiedAt, committedAt } = sync;
  const isOver = sync.phase === 'Committed';
  const applying = sync.phase === 'Committing' ? 'Committing' : 'Applying changes';
  const parts = sync.isReversed
    ? [
        part('Initial copy', startedAt, copiedAt, true),
        part('Committed', isOver ? null : committedAt, isOver ? null : committedAt, true),
        part(
          sync.phase === 'Reversing' ? 'Reversing' : `${applying} backwards`,
          isOver ? null : committedAt,
          isOver ? committedAt : null,
          isOver,
        ),
        part('Committed back', isOver ? committedAt : null, null, isOver),
      ]
    : [
        part('Starting', createdAt, startedAt, startedAt !== null),
        part('Initial copy', startedAt, copiedAt, copiedAt !== null || isOver),
        part(applying, copiedAt, isOver ? committedAt : null, isOver),
        part('Committed', isOver ? committedAt : null, null, isOver),
      ];
  const current = parts.findIndex(({ isDone }) => !isDone);
  return parts.map(({ isDone, ...step }, index) => ({
    ...step,
    state: isDone ? 'done' : index === current ? stateOf(sync.phase) : 'waiting',
  }));
}

function part(name: string, from: string | null, to: string | null, isDone: boolean) {
  return { name, from, to, isDone };
}

function stateOf(phase: string): Step['state'] {
  switch (phase) {
    case 'Stalled':
      return 'stalled';
    case 'Paused':
      return 'paused';
    default:
      return 'current';
  }
}
