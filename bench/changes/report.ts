import { barsOf, type BarGroup } from '../bars.ts';
import { markdownTable } from '../results.ts';
import { percentile } from '../statistics.ts';
import type { BacklogResult } from './backlog.ts';
import type { LiveResult, WriteDelays } from './delays.ts';

/** The measurements of one round, taken one after the other. */
export interface ChangesRound {
  /** Runnable processes in the minute before (load average), of any program. */
  readonly loadAverage: number;
  readonly backlog: BacklogResult;
  readonly singleWrites: WriteDelays;
  readonly live: LiveResult;
}

/** The measurements of one run. */
export interface ChangesResults {
  readonly at: string;
  readonly machine: string;
  /** In each replica set. */
  readonly members: number;
  readonly rounds: readonly ChangesRound[];
}

/** The results as Markdown. */
export function textOf({ at, machine, members, rounds }: ChangesResults): string {
  const backlogRows = rounds.map(({ loadAverage, backlog }) => {
    const { events, floorPerSecond, eventsPerSecond, floorCost, applyCost } = backlog;
    const microseconds = (seconds: number): string => ((seconds * 1e6) / events).toFixed(1);
    return [
      loadAverage.toFixed(1),
      events,
      floorPerSecond,
      eventsPerSecond,
      (eventsPerSecond / floorPerSecond).toFixed(2),
      microseconds(floorCost.cpuSeconds.destination),
      microseconds(applyCost.cpuSeconds.destination),
      microseconds(applyCost.cpuSeconds.source),
      microseconds(applyCost.cpuSeconds.syncer),
    ];
  });
  const backlogHead = [
    'load before',
    'events',
    'bulk writes/s',
    'events/s',
    'ratio',
    'bulk writes: destination CPU \u00b5s each',
    'applying: destination',
    'source',
    'syncer',
  ];
  const delayRows = delayLists(rounds).map(({ label, delays }) => [
    label,
    delays.length,
    ...[0.5, 0.99, 1].map((share) => percentile(delays, share).toFixed(1)),
  ]);
  const liveRows = rounds.map(({ live }) => [
    live.operationsPerSecond,
    percentile(live.synced, 1).toFixed(0),
    live.maxLagTimeSeconds,
    live.catchUpMs.toFixed(0),
  ]);
  return [
    `# Applying changes\n\n${at}, ${machine}, replica sets of ${members}, ${rounds.length} round(s). ` +
      'Servers, tool, client and whatever else is at work share the machine: only what stands side by side can be compared.\n',
    'A backlog of 50 % inserts, 40 % updates and 10 % deletes, and the same as bulk writes to the destination, in turn:\n',
    markdownTable(backlogHead, backlogRows),
    'Single writes until they are seen on the destination, in ms; directly: one client writes to both sides:\n',
    markdownTable(['writes', 'count', 'p50', 'p99', 'at most'], delayRows),
    'The live load of each round (writers wait for each of their operations):\n',
    markdownTable(
      [
        'operations/s',
        'longest delay, ms',
        'largest lagTimeSeconds',
        'caught up after its end, ms',
      ],
      liveRows,
    ),
  ].join('\n');
}

/** The results as bars, as SVG. */
export function plotOf({ rounds }: ChangesResults): string {
  const rates = rounds.flatMap(({ backlog }, index) => [
    { label: `applied, round ${index + 1}`, value: backlog.eventsPerSecond, isOurs: true },
    { label: 'bulk writes', value: backlog.floorPerSecond, isOurs: false },
  ]);
  const group = (title: string, bars: readonly Omit<BarGroup['bars'][number], 'text'>[]) => ({
    title,
    bars: bars.map((bar) => ({ ...bar, text: bar.value.toFixed(bar.value < 100 ? 1 : 0) })),
  });
  const delays = (title: string, share: number): BarGroup =>
    group(
      title,
      delayLists(rounds).map((list) => ({
        label: list.label,
        value: percentile(list.delays, share),
        isOurs: list.isOurs,
      })),
    );
  return barsOf([
    group('backlog: events a second', rates),
    delays('single writes: p50, ms', 0.5),
    delays('single writes: p99, ms', 0.99),
  ]);
}

interface DelayList {
  readonly label: string;
  readonly delays: readonly number[];
  readonly isOurs: boolean;
}

/** The delays from all rounds. */
function delayLists(rounds: readonly ChangesRound[]): DelayList[] {
  return [
    { label: 'synced', of: 'singleWrites', way: 'synced' } as const,
    { label: 'directly', of: 'singleWrites', way: 'direct' } as const,
    { label: 'synced beside the load', of: 'live', way: 'synced' } as const,
    { label: 'directly beside the load', of: 'live', way: 'direct' } as const,
  ].map(({ label, of, way }) => ({
    label,
    delays: rounds.flatMap((round) => round[of][way]),
    isOurs: way === 'synced',
  }));
}
