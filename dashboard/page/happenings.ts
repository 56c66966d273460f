import { h, type ComponentChild } from 'preact';
import { countOf } from '../../service/quantities.ts';
import type { ConditionView, EventsView } from '../api/sync-view.ts';
import { foreignText } from './foreign-text.ts';
import { icon } from './icons.ts';
import { ago, card, empty } from './small-parts.ts';

/** How many warnings are shown: more than anybody reads. */
const shownWarnings = 100;

/** The warnings of the syncers; nothing if there are none. */
export function warningsCard(warnings: readonly string[]): ComponentChild | false {
  return (
    warnings.length > 0 &&
    card(
      'Warnings',
      countOf(warnings.length, 'warning'),
      h(
        'ul',
        { class: 'warnings' },
        warnings
          .slice(0, shownWarnings)
          .map((text) => h('li', { key: text }, icon('alert'), h('span', null, foreignText(text)))),
      ),
    )
  );
}

/** The events of Kubernetes about a sync. */
export function eventsCard(events: EventsView | null, nowMs: number): ComponentChild | false {
  return (
    events !== null &&
    card(
      'Events',
      events.hasMore && 'incomplete list: kubectl events has all',
      events.shown.length === 0
        ? empty('None. By default Kubernetes keeps events for an hour.')
        : h(
            'ul',
            { class: 'events' },
            events.shown.map(({ type, reason, note, about, count, at }) =>
              h(
                'li',
                null,
                h(
                  'span',
                  { class: `plain tone-${type === 'Warning' ? 'warning' : 'quiet'}` },
                  icon(type === 'Warning' ? 'alert' : 'check'),
                  foreignText(reason),
                ),
                h('span', { class: 'event-note' }, foreignText(note)),
                h(
                  'span',
                  { class: 'muted event-about' },
                  foreignText(about),
                  count > 1 && ` · ${count} times`,
                ),
                h('span', { class: 'muted event-time' }, ago(at, nowMs)),
              ),
            ),
          ),
    )
  );
}

/** The conditions of the resource, as `kubectl describe` has them. */
export function conditionsCard(
  conditions: readonly ConditionView[],
  nowMs: number,
): ComponentChild | false {
  return (
    conditions.length > 0 &&
    card(
      'Conditions',
      null,
      h(
        'ul',
        { class: 'events conditions' },
        conditions.map(({ type, status, reason, message, since }) =>
          h(
            'li',
            { key: type },
            h(
              'span',
              { class: `plain tone-${status === 'True' ? 'good' : 'quiet'}` },
              icon(status === 'True' ? 'check' : status === 'False' ? 'cross' : 'clock'),
              h('span', null, foreignText(type), ` ${status}`),
            ),
            h('span', { class: 'event-note' }, foreignText(message)),
            h('span', { class: 'muted event-about' }, foreignText(reason)),
            h('span', { class: 'muted event-time' }, ago(since, nowMs)),
          ),
        ),
      ),
    )
  );
}
