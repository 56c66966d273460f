import type { ReportedCollection, ReportedCollections } from '../../sync-api/syncer-answers.ts';

/** Collections that are listed, and how many others there are of each kind. */
export interface Folded {
  readonly shown: readonly ReportedCollection[];
  readonly others: {
    /** Under way, but there is no room. */
    readonly underWay: number;
    readonly waiting: number;
    readonly copied: number;
  };
}

/** Chooses what to list in this many lines: active collections, then waiting ones, the largest first; finished ones are only counted. */
export function foldCollections(
  { collections, total, copied }: ReportedCollections,
  lines: number,
): Folded {
  const pending = collections.filter(({ isCopied }) => !isCopied);
  const isUnderWay = ({ copiedBytes }: ReportedCollection): boolean => copiedBytes > 0;
  const bySize = (left: ReportedCollection, right: ReportedCollection): number =>
    Number(isUnderWay(right)) - Number(isUnderWay(left)) || right.totalBytes - left.totalBytes;
  const shown = pending.toSorted(bySize).slice(0, Math.max(0, lines));
  const underWay = pending.filter(isUnderWay).length;
  const shownUnderWay = shown.filter(isUnderWay).length;
  const waiting = Math.max(0, total - copied - underWay);
  return {
    shown,
    others: {
      underWay: underWay - shownUnderWay,
      waiting: Math.max(0, waiting - (shown.length - shownUnderWay)),
      copied,
    },
  };
}
