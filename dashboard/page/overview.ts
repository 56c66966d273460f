import { h, type ComponentChild } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { countOf, countText } from '../../service/quantities.ts';
import type { Changes, PageInfo, Snapshot } from '../api/messages.ts';
import type { ServerEvent } from '../view/event-lines.ts';
import { readMessage } from '../view/message.ts';
import {
  chosen,
  countGroups,
  groups,
  orders,
  withChanges,
  type Choice,
  type Group,
  type Order,
} from '../view/sync-list.ts';
import { firstCommands } from '../view/first-steps.ts';
import type { Look } from '../view/phase.ts';
import { ageText } from '../view/times.ts';
import { Command } from './command.ts';
import { connectionNote, stalenessNote } from './connection-note.ts';
import { icon } from './icons.ts';
import { syncAddress } from './route.ts';
import { empty } from './small-parts.ts';
import { SyncLine } from './sync-line.ts';
import { useListKeys } from './list-keys.ts';
import { useStream } from './use-stream.ts';

/** What a page needs to get data. */
export interface AccessProps {
  readonly token: string | undefined;
  readonly onUnauthorized: () => void;
  /** Gets what is known about the whole page, whenever that changes. */
  readonly onPage: (page: PageInfo) => void;
}

const groupLooks: Readonly<Record<Group, Look>> = {
  all: { label: 'All syncs', icon: 'flow', tone: 'quiet' },
  attention: { label: 'Need attention', icon: 'alert', tone: 'bad' },
  copying: { label: 'Copying', icon: 'copy', tone: 'busy' },
  changes: { label: 'Applying changes', icon: 'flow', tone: 'busy' },
  ready: { label: 'Ready to commit', icon: 'check', tone: 'good' },
  committed: { label: 'Committed', icon: 'seal', tone: 'good' },
};

const orderLabels: Readonly<Record<Order, string>> = {
  state: 'What needs attention',
  name: 'Name',
  lag: 'Lag',
  size: 'Size',
};

/** How many are drawn at first, so that thousands of syncs of one user do not hide those of other users. */
const shownAtOnce = 500;

/** The selection is kept while one sync is shown. */
let remembered: Choice = { group: 'all', search: '', order: 'state' };

/** The list of all syncs. */
export function Overview({ token, onUnauthorized, onPage }: AccessProps): ComponentChild {
  const { value, connection } = useStream<Snapshot>('api/v1/syncs/stream', token, reduce);
  const [choice, setChoice] = useState(remembered);
  const [limit, setLimit] = useState(shownAtOnce);
  const choose = (part: Partial<Choice>): void => {
    remembered = { ...choice, ...part };
    setChoice(remembered);
  };
  const rows = value?.syncs;
  const counts = useMemo(() => countGroups(rows ?? []), [rows]);
  const shown = useMemo(() => chosen(rows ?? [], choice), [rows, choice]);
  useEffect(() => {
    document.title = 'Syncs · clustersync';
  }, []);
  useEffect(() => {
    if (connection === 'unauthorized') onUnauthorized();
  }, [connection]);
  useEffect(() => {
    if (value) onPage(value.page);
  }, [value?.page]);
  const [first] = rows ?? [];
  const only = first?.carriedOutBy === 'run' ? syncAddress(first.namespace, first.name) : undefined;
  useEffect(() => {
    // There are no others to choose from, so the list is not a page of its own.
    if (only !== undefined) location.replace(only);
  }, [only]);
  useListKeys(rows !== undefined);
  const nowMs = useMinutes();
  return h(
    'div',
    { class: 'overview' },
    h(
      'div',
      { class: 'title' },
      h('h1', null, 'Syncs'),
      value && h('span', { class: 'muted' }, value.page.scope),
      connectionNote(connection),
    ),
    value && stalenessNote(value.page),
    h(
      'div',
      { class: 'groups', role: 'group', 'aria-label': 'Which syncs are shown' },
      groups.map((group) =>
        h(
          'button',
          {
            ...{ type: 'button', class: 'group', key: group },
            'aria-pressed': choice.group === group,
            onClick: () => {
              choose({ group });
            },
          },
          h('span', { class: 'group-count' }, counts[group].toLocaleString('en-GB')),
          h(
            'span',
            { class: `group-label${counts[group] > 0 ? ` tone-${groupLooks[group].tone}` : ''}` },
            icon(groupLooks[group].icon),
            groupLooks[group].label,
          ),
        ),
      ),
    ),
    h(
      'div',
      { class: 'tools' },
      h(
        'label',
        { class: 'search' },
        icon('search'),
        h('span', { class: 'hidden' }, 'Search by name, namespace or deployment'),
        h('input', {
          ...{ id: 'search', type: 'search', placeholder: 'Search  ( / )', autocomplete: 'off' },
          value: choice.search,
          onInput: (event: InputEvent) => {
            choose({ search: (event.target as HTMLInputElement).value });
          },
        }),
      ),
      h(
        'label',
        { class: 'order' },
        h('span', null, 'Order by'),
        h(
          'select',
          {
            onChange: (event: Event) => {
              const { value: name } = event.target as HTMLSelectElement;
              choose({ order: orders.find((order) => order === name) ?? 'state' });
            },
          },
          orders.map((order) =>
            h(
              'option',
              { value: order, key: order, selected: order === choice.order },
              orderLabels[order],
            ),
          ),
        ),
      ),
      h('span', { class: 'muted shown', role: 'status' }, rows && countOf(shown.length, 'sync')),
    ),
    rows === undefined
      ? h('div', { class: 'card' }, empty('Waiting for figures…'))
      : rows.length === 0
        ? firstSteps()
        : shown.length === 0
          ? h('div', { class: 'card' }, empty('No sync matches.'))
          : h(
              'div',
              { class: 'card list' },
              h(
                'div',
                { class: 'line-heads', 'aria-hidden': 'true' },
                heads.map(([name, head]) => h('span', { class: `line-${name}` }, head)),
              ),
              h(
                'ul',
                { id: 'list', 'aria-label': 'Syncs' },
                shown
                  .slice(0, limit)
                  .map((row) =>
                    h(SyncLine, { row, age: ageText(row.createdAt, nowMs), key: row.key }),
                  ),
              ),
            ),
    shown.length > limit &&
      h(
        'button',
        {
          ...{ type: 'button', class: 'more' },
          onClick: () => {
            setLimit(limit + shownAtOnce);
          },
        },
        `Show more: ${countText(limit)} of ${countText(shown.length)} are shown`,
      ),
  );
}

/** The time, redrawn with every change, and at least every half minute: ages grow without one. */
function useMinutes(): number {
  const [, setTime] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      setTime(Date.now());
    }, 30_000);
    return () => {
      clearInterval(timer);
    };
  }, []);
  return Date.now();
}

/** The columns, where there is room for them. */
const heads = [
  ['name', 'Sync'],
  ['route', 'From and to'],
  ['copy', 'Initial copy'],
  ['lag', 'Lag'],
  ['oplog', 'Oplog'],
  ['verified', 'Verification'],
  ['phase', 'Phase'],
  ['age', 'Age'],
] as const;

/** What creates the first sync. */
function firstSteps(): ComponentChild {
  return h(
    'div',
    { class: 'card first-steps' },
    h(
      'p',
      null,
      'There are no ClusterSyncs yet. Create one, in the namespace where its pods are to run:',
    ),
    firstCommands.map((text) => h(Command, { text, key: text })),
    h(
      'p',
      { class: 'muted' },
      'old.txt and new.txt have the connection strings. The guide explains each step: docs/guide.md, “On Kubernetes”.',
    ),
  );
}

function reduce(former: Snapshot | undefined, { name, data }: ServerEvent): Snapshot | undefined {
  switch (name) {
    case 'snapshot':
      return readMessage(data) as Snapshot;
    case 'changes':
      return (
        former && { ...former, syncs: withChanges(former.syncs, readMessage(data) as Changes) }
      );
    default:
      return former;
  }
}
