import type { MismatchView } from '../api/sync-view.ts';

/** Equivalent differences: the same field of many documents, for example. */
export interface AlikeMismatches {
  readonly mismatch: MismatchView;
  readonly count: number;
}

/** Removes differences equivalent to an earlier one, keeping the order, and counts each kind. */
export function alikeMismatches(list: readonly MismatchView[]): readonly AlikeMismatches[] {
  const found = new Map<string, AlikeMismatches>();
  for (const mismatch of list) {
    const { namespace, kind, index, field, detail } = mismatch;
    const key = JSON.stringify([namespace, kind, index, field, detail]);
    const former = found.get(key);
    found.set(key, former ? { ...former, count: former.count + 1 } : { mismatch, count: 1 });
  }
  return [...found.values()];
}
