import { barsOf, type BarGroup } from '../bars.ts';
import { markdownTable } from '../results.ts';
import { median } from '../statistics.ts';
import type { FarBacklog } from './backlog.ts';
import type { FarCopy } from './copy.ts';

/** The median of the rounds of one case, and its share of what the figures of the case are compared with. */
interface Row {
  readonly cells: readonly (string | number)[];
  readonly label: string;
  readonly rate: number;
  readonly share: number;
  /** The most of all rounds. */
  readonly peakMebibytes: number;
}

/** The copies as Markdown: each beside the one of the same set over the shortest round trip. */
export function copyTable(copies: readonly FarCopy[]): string {
  const head = ['set', 'far side', 'round trip, ms', 'MB/s', 'of near', 'MiB at most'];
  return tableOf(head, copyRows(copies), 2);
}

/** The backlogs as Markdown: each beside the one in the fewest collections over the shortest round trip. */
export function backlogTable(backlogs: readonly FarBacklog[]): string {
  const head = [
    'changes of',
    'collections',
    'far side',
    'round trip, ms',
    'events/s',
    'of the first',
    'MiB at most',
  ];
  return tableOf(head, backlogRows(backlogs), 1);
}

/** The rates as bars, as SVG. */
export function plotOf(copies: readonly FarCopy[], backlogs: readonly FarBacklog[]): string {
  const groupOf = (title: string, rows: readonly Row[]): BarGroup => ({
    title,
    bars: rows.map(({ label, rate }) => ({
      ...{ label, value: rate, text: rate.toFixed(0), isOurs: true },
    })),
  });
  return barsOf(
    [
      groupOf('copy: MB a second', copyRows(copies)),
      groupOf('backlog: events a second', backlogRows(backlogs)),
    ].filter(({ bars }) => bars.length > 0),
  );
}

function tableOf(head: readonly string[], rows: readonly Row[], texts: number): string {
  const lines = rows.map(({ cells, rate, share, peakMebibytes }) => [
    ...cells,
    rate.toFixed(0),
    share.toFixed(2),
    peakMebibytes,
  ]);
  return markdownTable(head, lines, texts);
}

function copyRows(copies: readonly FarCopy[]): readonly Row[] {
  return rowsOf(copies, {
    cellsOf: ({ set, farSide, roundTripMs }) => [set, farSide, roundTripMs],
    rateOf: ({ megabytesPerSecond }) => megabytesPerSecond,
    isComparedWith: (copy, other) => copy.set === other.set,
  });
}

function backlogRows(backlogs: readonly FarBacklog[]): readonly Row[] {
  return rowsOf(backlogs, {
    cellsOf: ({ shape, collections, farSide, roundTripMs }) => [
      shape,
      collections,
      farSide,
      roundTripMs,
    ],
    rateOf: ({ eventsPerSecond }) => eventsPerSecond,
    isComparedWith: () => true,
  });
}

/** Each case is compared with the first one that it may be compared with. */
function rowsOf<Result extends FarCopy | FarBacklog>(
  results: readonly Result[],
  { cellsOf, rateOf, isComparedWith }: RowParts<Result>,
): readonly Row[] {
  const groups = Map.groupBy(results, (result) => cellsOf(result).join(', '));
  const rates = [...groups.values()].map((group) => median(group.map(rateOf)));
  const firsts = [...groups.values()].flatMap((group) => group.slice(0, 1));
  return [...groups].flatMap(([label, group], index) => {
    const [first] = group;
    const rate = rates[index];
    if (first === undefined || rate === undefined) return [];
    const base = rates[firsts.findIndex((other) => isComparedWith(first, other))] ?? NaN;
    const peakMebibytes = Math.max(...group.map((result) => result.peakMebibytes));
    return { cells: cellsOf(first), label: `${label} ms`, rate, share: rate / base, peakMebibytes };
  });
}

interface RowParts<Result> {
  /** What tells a case from others. */
  readonly cellsOf: (result: Result) => readonly (string | number)[];
  readonly rateOf: (result: Result) => number;
  readonly isComparedWith: (result: Result, other: Result) => boolean;
}
