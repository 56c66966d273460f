import { h, type ComponentChild } from 'preact';
import { durationText } from '../../service/quantities.ts';
import type { SyncRow } from '../api/sync-view.ts';
import type { Icon } from '../view/phase.ts';
import { timelineOf, type Step } from '../view/timeline.ts';
import { secondsBetween } from '../view/times.ts';
import { icon } from './icons.ts';
import { card } from './small-parts.ts';

const icons: Readonly<Record<Step['state'], Icon>> = {
  done: 'check',
  current: 'flow',
  paused: 'pause',
  stalled: 'alert',
  waiting: 'clock',
};

const words: Readonly<Record<Step['state'], string>> = {
  done: 'done',
  current: 'under way',
  paused: 'paused',
  stalled: 'stalled',
  waiting: 'to come',
};

/** The steps of a sync, and where it is. */
export function timelineCard(row: SyncRow, nowMs: number): ComponentChild {
  return card(
    'Phases',
    null,
    h(
      'ol',
      { class: 'timeline' },
      timelineOf(row).map((step) =>
        h(
          'li',
          {
            class: `step step-${step.state}`,
            key: step.name,
            'aria-current': ['done', 'waiting'].includes(step.state) ? undefined : 'step',
          },
          h('span', { class: 'step-mark' }, icon(icons[step.state])),
          h(
            'div',
            { class: 'step-text' },
            h('span', { class: 'step-name' }, step.name),
            h('span', { class: 'muted' }, noteOf(step, nowMs)),
            step.from !== null &&
              h(
                'time',
                { class: 'muted', dateTime: step.from, title: step.from },
                clockText(step.from),
              ),
          ),
        ),
      ),
    ),
  );
}

function noteOf({ state, from, to }: Step, nowMs: number): string {
  // These began at some time within the step.
  if (state === 'stalled' || state === 'paused') return words[state];
  const took = secondsBetween(from, state === 'done' ? to : nowMs);
  if (took === undefined || (state === 'done' && to === null)) return words[state];
  return state === 'done'
    ? `took ${durationText(took)}`
    : `${words[state]} for ${durationText(took)}`;
}

/** Local date and time, to the minute. */
function clockText(at: string): string {
  return new Date(at).toLocaleString('en-GB', {
    ...{ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
  });
}
