import { h, type ComponentChildren, type ComponentChild } from 'preact';
import { bytesText, durationText, rateText } from '../../service/quantities.ts';
import type { SyncReport } from '../api/messages.ts';
import { heldBackCost, heldBackText, type HeldBack } from '../view/held-back.ts';
import { copySecondsLeft } from '../view/times.ts';
import { foreignText } from './foreign-text.ts';
import { bar, bytes, count, seconds, unknown } from './small-parts.ts';

/** The figures at the top of the page of a sync. */
export function figuresOf({
  row,
  oplogSeconds,
  catchUpSeconds,
  heldBack,
}: SyncReport): readonly ComponentChild[] {
  const isCommitted = row.phase === 'Committed';
  const left = copySecondsLeft(row);
  const isCopying = row.percent !== null && row.percent < 100;
  const limits = heldBack && !isCommitted && limitsLine(heldBack);
  return [
    figure(
      'Copied',
      bytes(row.copiedBytes),
      row.totalBytes === null
        ? 'not begun'
        : `${row.percent ?? 0} % of ${bytesText(row.totalBytes)}`,
      row.percent !== null && bar(row.percent, 'Copied', isCopying ? 'busy' : 'good'),
    ),
    isCopying
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
    figure(
      'Lag',
      isCommitted ? unknown() : seconds(row.lagSeconds),
      lagNote(isCommitted, isCopying, catchUpSeconds),
    ),
    figure(
      'Oplog lasts',
      isCommitted ? unknown() : seconds(oplogSeconds),
      oplogSeconds === null || isCommitted
        ? 'unknown or not needed'
        : 'until the source no longer holds what the sync needs',
    ),
    figure(
      'Commit',
      h('span', null, isCommitted ? 'Done' : row.commitReadiness.isReady ? 'Ready' : 'Not yet'),
      isCommitted
        ? 'the destination is complete'
        : isCopying
          ? 'the copy must be complete first'
          : foreignText(row.commitReadiness.message),
    ),
  ];
}

function lagNote(isCommitted: boolean, isCopying: boolean, catchUpSeconds: number | null): string {
  if (isCommitted) return 'nothing left to apply';
  // Nothing has caught up before everything is copied.
  if (isCopying || catchUpSeconds === null) return 'behind the source';
  return catchUpSeconds === 0 ? 'caught up' : `caught up in ${durationText(catchUpSeconds)}`;
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
