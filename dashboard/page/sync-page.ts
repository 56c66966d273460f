import { h, type ComponentChild } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { SyncReport, SyncReportChanges } from '../api/messages.ts';
import type { SyncRow } from '../api/sync-view.ts';
import type { ServerEvent } from '../view/event-lines.ts';
import { helpAddress } from '../view/help.ts';
import { readMessage } from '../view/message.ts';
import { isCopying, phaseLook } from '../view/phase.ts';
import { rateSeconds, ratesOf } from '../view/rates.ts';
import { CollectionsCard } from './collections-card.ts';
import { Command } from './command.ts';
import { connectionNote, stalenessNote } from './connection-note.ts';
import { figuresOf } from './figures.ts';
import { conditionsCard, eventsCard, findingsCard, warningsCard } from './happenings.ts';
import { foreignText } from './foreign-text.ts';
import { icon } from './icons.ts';
import { instancesCard } from './instances-card.ts';
import { LagChart } from './lag-chart.ts';
import { LineChart } from './line-chart.ts';
import type { AccessProps } from './overview.ts';
import { listAddress } from './route.ts';
import { helpLink, pill } from './small-parts.ts';
import { timelineCard } from './timeline-card.ts';
import { useStream } from './use-stream.ts';
import { verificationCards } from './verification-card.ts';
import { bytesText, countOf, rateText } from '../../service/quantities.ts';

interface SyncPageProps extends AccessProps {
  readonly namespace: string;
  readonly name: string;
}

/** Everything about one sync. */
export function SyncPage({
  namespace,
  name,
  token,
  onUnauthorized,
  onPage,
}: SyncPageProps): ComponentChild {
  const path = `api/v1/syncs/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/stream`;
  const { value, connection } = useStream<SyncReport>(path, token, reduce);
  const isAlone = value?.row.carriedOutBy === 'run';
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${name} · clustersync`;
    heading.current?.focus();
    scrollTo(0, 0);
  }, [namespace, name]);
  useEffect(() => {
    if (connection === 'unauthorized') onUnauthorized();
  }, [connection]);
  useEffect(() => {
    if (value) onPage(value.page);
  }, [value?.page]);
  useEffect(() => {
    const leave = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && !isAlone) location.hash = listAddress;
    };
    addEventListener('keydown', leave);
    return () => {
      removeEventListener('keydown', leave);
    };
  }, [isAlone]);
  return h(
    'div',
    { class: 'sync' },
    !isAlone &&
      h(
        'nav',
        { 'aria-label': 'Back' },
        h('a', { class: 'back', href: listAddress }, icon('left'), 'All syncs'),
      ),
    h(
      'div',
      { class: 'title' },
      h('h1', { ref: heading, tabIndex: -1 }, name),
      !isAlone && h('span', { class: 'muted' }, namespace),
      value && h('span', { 'aria-live': 'polite' }, pill(phaseLook(value.row))),
      connectionNote(connection, isAlone ? runWords : {}),
    ),
    value ? body(value) : h('p', { class: 'note' }, waitingText(connection === 'missing')),
  );
}

/** Once the command has ended, nobody serves the page; the command can be started again. */
const runWords = { reconnecting: 'The command has ended' } as const;

function waitingText(isMissing: boolean): string {
  return isMissing
    ? 'There is no such sync: it was deleted, or has not been created yet.'
    : 'Waiting for figures…';
}

function body(report: SyncReport): (ComponentChild | false | null)[] {
  const { row, page } = report;
  const { docsUrl } = page;
  const nowMs = Date.now();
  return [
    stalenessNote(page),
    route(row),
    ...differenceNotes(row),
    readinessNote(row, docsUrl),
    h('dl', { class: 'figures' }, figuresOf(report)),
    timelineCard(row, nowMs),
    h('div', { class: 'pair' }, rateChart(report), h(LagChart, report)),
    findingsCard(report.findings),
    warningsCard(report.warnings),
    ...verificationCards(report.verifications, row.carriedOutBy, docsUrl),
    instancesCard(report.instances),
    h(CollectionsCard, report),
    eventsCard(report.events, nowMs),
    conditionsCard(report.conditions, docsUrl, nowMs),
  ];
}

/** How fast the copy is, and how fast changes are applied once it is complete. */
function rateChart({ row, history }: SyncReport): ComponentChild {
  const summary = `over the last ${rateSeconds} s`;
  return isCopying(row)
    ? h(LineChart, {
        ...{ key: 'copy', title: 'Copy rate', summary, current: row.bytesPerSecond },
        points: ratesOf(history, 'copied'),
        format: (rate) => `${bytesText(rate)}/s`,
      })
    : h(LineChart, {
        ...{ key: 'changes', title: 'Change rate', summary, current: row.eventsPerSecond },
        points: ratesOf(history, 'applied'),
        format: (rate) => `${rateText(rate)}/s`,
      });
}

function route({ source, destination, isReversed }: SyncRow): ComponentChild {
  return h(
    'p',
    { class: 'route' },
    h('span', null, foreignText(source)),
    icon('arrow'),
    h('span', { class: 'hidden' }, 'to'),
    h('span', null, foreignText(destination)),
    isReversed && h('span', { class: 'muted' }, '(reversed)'),
  );
}

/** The most important fact about a sync. */
function differenceNotes({ verifications }: SyncRow): ComponentChild[] {
  return verifications
    .filter(({ verdict }) => verdict === 'different')
    .map(({ name, mismatches }) =>
      h(
        'div',
        { class: 'readiness readiness-stalled', key: name },
        icon('alert'),
        h(
          'p',
          null,
          h('strong', null, 'Different'),
          ': ',
          foreignText(name),
          ` has found ${mismatches === null ? 'differences' : countOf(mismatches, 'difference')}. `,
          'Do not use the destination until you know why: see its verification below.',
        ),
      ),
    );
}

/** The condition of the resource that has the reason. */
const conditions = {
  ready: { type: 'Ready', status: 'True' },
  working: { type: 'Ready', status: 'False' },
  warning: { type: 'Ready', status: 'False' },
  stalled: { type: 'Stalled', status: 'True' },
} as const;

const readinessIcons = {
  ready: 'check',
  working: 'clock',
  warning: 'alert',
  stalled: 'alert',
} as const;

function readinessNote(
  { readiness, commitReadiness, carriedOutBy, name, namespace }: SyncRow,
  docsUrl: string | null,
): ComponentChild {
  const { kind, reason, message } = readiness;
  return h(
    'div',
    { class: `readiness readiness-${kind}` },
    icon(readinessIcons[kind]),
    h(
      'div',
      { class: 'readiness-text' },
      h(
        'p',
        null,
        h('strong', null, foreignText(reason)),
        ': ',
        foreignText(message),
        helpLink(helpAddress({ ...conditions[kind], reason }, docsUrl)),
      ),
      commitReadiness.isReady &&
        carriedOutBy === 'operator' && [
          h('p', null, 'Stop application writes to the source, then commit:'),
          h(Command, { text: `kubectl clustersync commit ${name} --namespace ${namespace}` }),
        ],
    ),
  );
}

function reduce(
  former: SyncReport | undefined,
  { name, data }: ServerEvent,
): SyncReport | undefined {
  switch (name) {
    case 'sync': {
      // The first event has all parts.
      return { ...former, ...(readMessage(data) as SyncReportChanges) } as SyncReport;
    }
    case 'gone':
      return undefined;
    default:
      return former;
  }
}
