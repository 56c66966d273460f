import { h, type ComponentChild } from 'preact';
import type { PageScope } from '../api/messages.ts';
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

/** That figures are old, although the connection is live: what serves them does not have newer ones. */
export function stalenessNote({ staleness }: PageScope): ComponentChild {
  return staleness !== null && h('p', { class: 'note' }, staleness);
}
