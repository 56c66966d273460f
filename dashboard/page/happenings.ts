import { h, type ComponentChild } from 'preact';
import { countOf } from '../../service/quantities.ts';
import type { PageInfo } from '../api/messages.ts';
import type { ConditionView, EventsView, FindingView } from '../api/sync-view.ts';
import { helpAddress } from '../view/help.ts';
import { conditionLook, type Icon, type Tone } from '../view/phase.ts';
import { foreignText } from './foreign-text.ts';
import { icon } from './icons.ts';
import { ago, card, helpLink } from './small-parts.ts';

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

/** The events of Kubernetes about a sync; nothing if it keeps none. */
export function eventsCard(events: EventsView | null, nowMs: number): ComponentChild | false {
  return (
    events !== null &&
    events.shown.length > 0 &&
    card(
      'Events',
      events.hasMore && 'incomplete list: kubectl events has all',
      h(
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

const findingLooks = new Map<string, { readonly tone: Tone; readonly icon: Icon }>([
  ['Blocker', { tone: 'bad', icon: 'cross' }],
  ['Warning', { tone: 'warning', icon: 'alert' }],
]);

/** What the check before the start has found; nothing if that is nothing. */
export function findingsCard(findings: readonly FindingView[]): ComponentChild | false {
  return (
    findings.length > 0 &&
    card(
      'Found before the start',
      countOf(findings.length, 'finding'),
      h(
        'ul',
        { class: 'events' },
        findings.map(({ severity, name, message, action }) => {
          const look = findingLooks.get(severity) ?? { tone: 'quiet', icon: 'check' };
          return h(
            'li',
            null,
            h(
              'span',
              { class: `plain tone-${look.tone}` },
              icon(look.icon),
              h('span', null, foreignText(severity)),
            ),
            h(
              'span',
              { class: 'event-note' },
              foreignText(message),
              action !== null && h('span', { class: 'finding-action' }, foreignText(action)),
            ),
            h('span', { class: 'muted event-about' }, foreignText(name)),
          );
        }),
      ),
    )
  );
}

/** The conditions of the resource, as `kubectl describe` has them. */
export function conditionsCard(
  conditions: readonly ConditionView[],
  docsUrl: PageInfo['docsUrl'],
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
        conditions.map((condition) => {
          const { type, status, reason, message, since } = condition;
          const look = conditionLook(condition, conditions);
          return h(
            'li',
            { key: type },
            h(
              'span',
              { class: `plain tone-${look.tone}` },
              icon(look.icon),
              h('span', null, foreignText(type), ` ${status}`),
            ),
            h(
              'span',
              { class: 'event-note' },
              foreignText(message),
              helpLink(helpAddress(condition, docsUrl)),
            ),
            h('span', { class: 'muted event-about' }, foreignText(reason)),
            h('span', { class: 'muted event-time' }, ago(since, nowMs)),
          );
        }),
      ),
    )
  );
}
