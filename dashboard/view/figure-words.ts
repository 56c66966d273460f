import { durationText } from '../../service/quantities.ts';
import type { SyncRow, VerificationSummary, VerificationView } from '../api/sync-view.ts';
import { commitDoubt, isCopying } from './phase.ts';

/** The figure `Commit`: a word, and a note, which may be the tool's. */
export function commitWords(
  row: SyncRow,
  verifications: readonly VerificationSummary[],
): { readonly word: string; readonly note: string } {
  const { isReady, message } = row.commitReadiness;
  if (row.phase === 'Committed') {
    const doubt = commitDoubt(verifications);
    return { word: 'Done', note: doubt ? `but ${doubt.note}` : 'the destination is complete' };
  }
  const word = isReady ? 'Ready' : 'Not yet';
  return { word, note: isCopying(row) ? 'the copy must be complete first' : message };
}

/** How much the current pass of a verification has compared, in percent; undefined if none is under way, or that is not known. */
export function passPercent({
  verdict,
  phase,
  documentsDone,
  documentsTotal,
}: Pick<VerificationView, 'verdict' | 'phase' | 'documentsDone' | 'documentsTotal'>):
  number | undefined {
  const isOver = verdict !== null || ['Succeeded', 'Failed'].includes(phase);
  if (isOver || documentsDone === null || documentsTotal === null) return undefined;
  if (documentsTotal === 0) return undefined;
  // The total is an estimate: only the end of the pass makes it 100.
  return Math.min(99, Math.floor((documentsDone / documentsTotal) * 100));
}

/** The note of the figure `Lag`. @param catchUpSeconds - null if it is not known. */
export function lagNote(row: SyncRow, catchUpSeconds: number | null): string {
  if (row.phase === 'Committed') return 'nothing left to apply';
  // Nothing has caught up before everything is copied.
  if (isCopying(row)) return 'changes are applied after the copy';
  if (catchUpSeconds === null) return 'behind the source';
  return catchUpSeconds === 0 ? 'caught up' : `caught up in ${durationText(catchUpSeconds)}`;
}

/** What a verification that knows of no difference says. */
export function noDifferencesText({
  verdict,
  isPart,
}: Pick<VerificationSummary, 'verdict' | 'isPart'>): string {
  if (verdict === 'equal') {
    return isPart
      ? 'What spec.filter selects is equal; nothing else is compared.'
      : 'The data is equal.';
  }
  return isPart ? 'No differences so far in what spec.filter selects.' : 'No differences so far.';
}
