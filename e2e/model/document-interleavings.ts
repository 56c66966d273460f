/**
 * Every order in which the source writes one document, the copy reaches it, its change events are applied, and the process is
 * killed and resumes.
 */

/** What the source does to the document. */
export type SourceWrite = 'insert' | 'update' | 'replace' | 'delete';

export type Step =
  | { readonly kind: 'write'; readonly write: SourceWrite }
  /** The copy reads the document, and writes it. A second copy comes after a kill. */
  | { readonly kind: 'copy' }
  /** The next events are applied together. */
  | { readonly kind: 'apply'; readonly events: number }
  /** The process is killed, and resumes from a checkpoint: it applies the last events again. */
  | { readonly kind: 'kill'; readonly forgottenEvents: number };

/** The life of one document, until it is the same on both sides. */
export interface Interleaving {
  /** Whether the source has the document before change events are read. */
  readonly existsBefore: boolean;
  readonly steps: readonly Step[];
}

/** What an interleaving may have at most. */
export interface InterleavingBounds {
  readonly steps: number;
  readonly writes: number;
  readonly copies: number;
  readonly kills: number;
}

interface State {
  readonly exists: boolean;
  readonly writes: number;
  readonly copies: number;
  readonly kills: number;
  readonly applied: number;
  /** True once changes are applied: from then on nothing is copied. */
  readonly isFollowing: boolean;
}

/** All interleavings within bounds that end with the last event applied. */
export function documentInterleavings(bounds: InterleavingBounds): readonly Interleaving[] {
  const found: Interleaving[] = [];
  const extend = (existsBefore: boolean, state: State, steps: readonly Step[]): void => {
    const last = steps.at(-1);
    if (last?.kind === 'apply' && state.applied === state.writes)
      found.push({ existsBefore, steps });
    if (steps.length === bounds.steps) return;
    for (const step of nextSteps(state, last, bounds))
      extend(existsBefore, stateAfter(state, step), [...steps, step]);
  };
  for (const exists of [true, false])
    extend(exists, { exists, writes: 0, copies: 0, kills: 0, applied: 0, isFollowing: false }, []);
  return found;
}

function nextSteps(
  { exists, writes, copies, kills, applied, isFollowing }: State,
  last: Step | undefined,
  bounds: InterleavingBounds,
): readonly Step[] {
  const possible: readonly SourceWrite[] = exists ? ['update', 'replace', 'delete'] : ['insert'];
  const counted = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);
  const isCopied = copies > 0;
  const mayCopy = !isFollowing && copies < bounds.copies && last?.kind !== 'copy';
  const mayBeKilled = kills < bounds.kills && last?.kind !== 'kill';
  return [
    ...(writes < bounds.writes ? possible.map((write): Step => ({ kind: 'write', write })) : []),
    ...(mayCopy ? [{ kind: 'copy' } as const] : []),
    ...counted(isCopied ? writes - applied : 0).map((events): Step => ({ kind: 'apply', events })),
    ...counted(mayBeKilled ? applied : 0).map((forgottenEvents): Step => ({
      kind: 'kill',
      forgottenEvents,
    })),
  ];
}

function stateAfter(state: State, step: Step): State {
  switch (step.kind) {
    case 'write':
      return { ...state, writes: state.writes + 1, exists: step.write !== 'delete' };
    case 'copy':
      return { ...state, copies: state.copies + 1 };
    case 'apply':
      return { ...state, applied: state.applied + step.events, isFollowing: true };
    case 'kill':
      return { ...state, applied: state.applied - step.forgottenEvents, kills: state.kills + 1 };
  }
}
