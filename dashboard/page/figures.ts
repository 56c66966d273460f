import { h, type ComponentChildren, type ComponentChild } from 'preact';
import { bytesText, countOf, durationText, rateText } from '../../service/quantities.ts';
import type { SyncReport } from '../api/messages.ts';
import { commitWords, lagNote, passPercent } from '../view/figure-words.ts';
import { heldBackCost, heldBackText, type HeldBack } from '../view/held-back.ts';
import { isCopying, verificationLook } from '../view/phase.ts';
import { shownVerification } from '../view/shown-verification.ts';
import { copySecondsLeft } from '../view/times.ts';
import { foreignText } from './foreign-text.ts';
import { bar, bytes, count, seconds, unknown } from './small-parts.ts';

/** The figures at the top of the page of a sync. */
export function figuresOf(report: SyncReport): readonly ComponentChild[] {
  const { row, catchUpSeconds, heldBack } = report;
  const { oplogSeconds } = row;
  const isCommitted = row.phase === 'Committed';
  const left = copySecondsLeft(row);
  const copying = isCopying(row);
  const commit = commitWords(row, report.verifications);
  const limits = heldBack && !isCommitted && limitsLine(heldBack);
  return [
    figure(
      'Copied',
      bytes(row.copiedBytes),
      row.totalBytes === null
        ? 'not begun'
        : `${row.percent ?? 0} % of ${bytesText(row.totalBytes)}`,
      row.percent !== null && bar(row.percent, 'Copied', copying ? 'busy' : 'good'),
    ),
    copying
      ? figure(
          'Copying',
          row.bytesPerSecond === null
            ? unknown()
            : h('span', { class: 'figure' }, `${bytesText(row.bytesPerSecond)}/s`),
          left === undefined ? 'time left not known' : `${durationText(left)} left`,
          limits,
        )
      : figure(
          'Changes applied',
          count(row.eventsApplied),
          row.eventsPerSecond === null || isCommitted
            ? 'since the start'
            : `${rateText(row.eventsPerSecond)} a second`,
          limits,
        ),
    figure('Lag', isCommitted ? unknown() : seconds(row.lagSeconds), lagNote(row, catchUpSeconds)),
    figure(
      'Oplog lasts',
      seconds(oplogSeconds),
      oplogSeconds === null
        ? 'unknown or not needed'
        : 'until the source no longer holds what the sync needs',
    ),
    verifiedFigure(report),
    figure('Commit', h('span', null, commit.word), foreignText(commit.note)),
  ];
}

/** What the verification says that tells most of what is in the way of a commit. */
function verifiedFigure({ row, verifications }: SyncReport): ComponentChild {
  const shown = shownVerification(verifications);
  if (!shown) {
    const note =
      row.carriedOutBy === 'run' && row.phase !== 'Committed'
        ? 'starts after the copy, unless --no-verify was given'
        : 'nothing compares the data';
    return figure('Verified', h('span', { class: 'unknown' }, 'None'), note);
  }
  const { label, tone } = verificationLook(shown);
  const { mismatches } = shown;
  const percent = passPercent(shown);
  const compared = shown.documentsCompared;
  const notes = [
    verifications.length > 1 && `${shown.name}, one of ${verifications.length}`,
    (mismatches ?? 0) > 0 && countOf(mismatches ?? 0, 'difference'),
    compared !== null && `${countOf(compared, 'document')} compared`,
  ].filter((note) => note !== false);
  return figure(
    'Verified',
    h('span', { class: `toned tone-${tone}` }, foreignText(label)),
    foreignText(notes.join(': ')),
    percent !== undefined && bar(percent, 'Compared in this pass of the verification'),
  );
}

function figure(
  label: string,
  value: ComponentChild,
  note: ComponentChild,
  more?: ComponentChildren,
): ComponentChild {
  return h(
    'div',
    { class: 'card tile', key: label },
    h('dt', null, label),
    h('dd', { class: 'tile-value' }, value),
    h('dd', { class: 'muted tile-note' }, note, more),
  );
}

/** As {@link heldBackText}, with each name for itself: the tool gives it. */
function limitsLine(heldBack: HeldBack): ComponentChild {
  const { heldBackBy } = heldBack;
  if (heldBackBy.length === 0) return h('div', null, heldBackText(heldBack));
  const names = heldBackBy.map((name, index) => [index > 0 && ' and ', foreignText(name)]);
  return h('div', null, 'held back by ', names, `: ${heldBackCost(heldBack)}`);
}
