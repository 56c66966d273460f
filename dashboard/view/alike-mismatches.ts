import type { MismatchView } from '../api/sync-view.ts';

/** Differences that say the same: of many documents, the same field, say. */
export interface AlikeMismatches {
  readonly mismatch: MismatchView;
  readonly count: number;
}

/** Differences without those that say the same as one before, in their order, with how many there are of each. */
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
