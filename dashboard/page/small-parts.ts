import { h, type ComponentChildren, type ComponentChild } from 'preact';
import { bytesText, countText, durationText } from '../../service/quantities.ts';
import type { Look } from '../view/phase.ts';
import { agoText } from '../view/times.ts';
import { foreignText } from './foreign-text.ts';
import { icon } from './icons.ts';

/** A state, in a word. */
export function pill({ tone, icon: name, label }: Look): ComponentChild {
  return h('span', { class: `pill tone-${tone}` }, icon(name), foreignText(label));
}

/** Bytes for people; the exact value on hover. */
export function bytes(count: number | null): ComponentChild {
  if (count === null) return unknown();
  return h('span', { class: 'figure', title: `${countText(count)} bytes` }, bytesText(count));
}

/** A count with thousands separators. */
export function count(value: number | null): ComponentChild {
  return value === null ? unknown() : h('span', { class: 'figure' }, countText(value));
}

/** Seconds for people; the exact value on hover. */
export function seconds(value: number | null | undefined): ComponentChild {
  if (value === null || value === undefined) return unknown();
  return h('span', { class: 'figure', title: `${countText(value)} seconds` }, durationText(value));
}

/** An unknown value. */
export function unknown(): ComponentChild {
  return h('span', { class: 'unknown', title: 'not known' }, '–');
}

/** A time: how long ago, and the exact time on hover. */
export function ago(at: string, nowMs: number): ComponentChild {
  return h('time', { dateTime: at, title: at, class: 'figure' }, agoText(at, nowMs));
}

/** How much of something is done: 0 to 100. */
export function bar(percent: number, label: string, tone = 'busy'): ComponentChild {
  const whole = Math.max(0, Math.min(100, percent));
  return h(
    'div',
    {
      ...{ class: `bar tone-${tone}`, role: 'progressbar', 'aria-label': label },
      ...{ 'aria-valuemin': 0, 'aria-valuemax': 100, 'aria-valuenow': Math.floor(whole) },
    },
    h('div', { class: 'bar-done', style: { width: `${whole}%` } }),
  );
}

/** Leads to what the documentation says about a reason; nothing without an address. */
export function helpLink(address: string | undefined): ComponentChildren {
  if (address === undefined) return false;
  const elsewhere = { target: '_blank', rel: 'noreferrer' };
  return [' ', h('a', { class: 'help', href: address, ...elsewhere }, 'What to do')];
}

/** A part of the page with a heading. */
export function card(
  title: string,
  aside: ComponentChildren,
  ...content: ComponentChildren[]
): ComponentChild {
  const id = `card-${title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
  return h(
    'section',
    { class: 'card', 'aria-labelledby': id },
    h('div', { class: 'card-head' }, h('h2', { id }, title), h('div', { class: 'aside' }, aside)),
    ...content,
  );
}

/** Says that there is nothing to show, and why. */
export function empty(text: string): ComponentChild {
  return h('p', { class: 'empty' }, text);
}
