import { h, type ComponentChild } from 'preact';
import type { Connection } from './follow.ts';

const words: Readonly<Record<Connection, string>> = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  unauthorized: 'No access',
  missing: 'Not found',
  refused: 'Too many pages are open',
};

/** Whether the page is up to date. @param others - words instead of the usual ones. */
export function connectionNote(
  connection: Connection,
  others: Partial<typeof words> = {},
): ComponentChild {
  return h(
    'span',
    { class: `connection is-${connection}`, role: 'status' },
    h('span', { class: 'dot', 'aria-hidden': 'true' }),
    others[connection] ?? words[connection],
  );
}
