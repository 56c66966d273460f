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

/** Whether what is shown is of now. */
export function connectionNote(connection: Connection): ComponentChild {
  return h(
    'span',
    { class: `connection is-${connection}`, role: 'status' },
    h('span', { class: 'dot', 'aria-hidden': 'true' }),
    words[connection],
  );
}
