import { barsOf } from '../bars.ts';
import { markdownTable } from '../results.ts';
import { median } from '../statistics.ts';
import type { FarBacklog } from './backlog.ts';

/** The median of a row's rounds, beside the figure of one collection without a delay. */
export interface FarRow {
  readonly collections: number;
  readonly farSide: FarBacklog['farSide'];
  readonly roundTripMs: number;
  readonly eventsPerSecond: number;
  /** Of the rate of the same run in the fewest collections over the shortest round trip. */
  readonly ratio: number;
  readonly cpuMicroseconds: number;
  /** The most of all rounds. */
  readonly peakMebibytes: number;
}

/** The rows of a run, in the order of its first round. */
export function rowsOf(results: readonly FarBacklog[]): FarRow[] {
  const groups = Map.groupBy(results, ({ collections, farSide, roundTripMs }) =>
    [collections, farSide, roundTripMs].join(),
  );
  const rows = [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const { collections, farSide, roundTripMs } = first;
    const eventsPerSecond = median(group.map((result) => result.eventsPerSecond));
    const cpuMicroseconds = median(group.map((result) => result.cpuMicroseconds));
    const peakMebibytes = Math.max(...group.map((result) => result.peakMebibytes));
    return { collections, farSide, roundTripMs, eventsPerSecond, cpuMicroseconds, peakMebibytes };
  });
  const [near] = rows.toSorted(
    (left, right) => left.collections - right.collections || left.roundTripMs - right.roundTripMs,
  );
  return rows.map((row) => ({
    ...row,
    ratio: near === undefined ? NaN : row.eventsPerSecond / near.eventsPerSecond,
  }));
}

/** The rows as Markdown. */
export function tableOf(rows: readonly FarRow[]): string {
  const head = [
    'collections',
    'far side',
    'round trip, ms',
    'events/s',
    'of one collection near',
    'syncer: CPU \u00b5s each',
    'MiB at most',
  ];
  return markdownTable(
    head,
    rows.map((row) => [
      row.collections,
      row.farSide,
      row.roundTripMs,
      row.eventsPerSecond,
      row.ratio.toFixed(2),
      row.cpuMicroseconds,
      row.peakMebibytes,
    ]),
  );
}

/** The rates as bars, as SVG. */
export function plotOf(rows: readonly FarRow[]): string {
  return barsOf([
    {
      title: 'backlog: events a second',
      bars: rows.map(({ collections, farSide, roundTripMs, eventsPerSecond }) => ({
        label: `${collections} collections, ${farSide} at ${roundTripMs} ms`,
        value: eventsPerSecond,
        text: eventsPerSecond.toFixed(0),
        isOurs: true,
      })),
    },
  ]);
}
