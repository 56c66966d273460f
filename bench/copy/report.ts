import { barsOf } from '../bars.ts';
import { markdownTable } from '../results.ts';
import { median } from '../statistics.ts';
import type { CopyResult } from './measure.ts';

/** The figures for each set and contender: medians over the rounds. */
export interface CopyRow {
  readonly set: string;
  readonly contender: string;
  readonly seconds: number;
  readonly megabytesPerSecond: number;
  readonly toolCpuSeconds: number;
  readonly mongodCpuSeconds: number;
  readonly peakMebibytes: number;
  /** Seconds divided by those of the floor that builds the indexes at the same time; undefined for the floor itself. */
  readonly overFloor: number | undefined;
}

/** The rows of a table, in the order in which the results came. */
export function rowsOf(results: readonly CopyResult[]): CopyRow[] {
  const keys = [...new Set(results.map(({ set, contender }) => `${set}\n${contender}`))];
  const rows = keys.map((key): CopyRow => {
    const runs = results.filter(({ set, contender }) => `${set}\n${contender}` === key);
    const [first] = runs;
    if (!first) throw new Error('there are no results');
    const seconds = median(runs.map((run) => run.seconds));
    return {
      set: first.set,
      contender: first.contender,
      seconds,
      megabytesPerSecond: first.megabytes / seconds,
      toolCpuSeconds: median(runs.map(({ tool }) => tool.cpuSeconds)),
      mongodCpuSeconds: median(runs.map(({ mongodCpuSeconds }) => mongodCpuSeconds)),
      peakMebibytes: Math.max(...runs.map(({ tool }) => tool.peakMebibytes)),
      overFloor: undefined,
    };
  });
  return rows.map((row) => {
    const floor = rows.find(({ set, contender }) => set === row.set && contender === floorOf(row));
    return floor ? { ...row, overFloor: row.seconds / floor.seconds } : row;
  });
}

/** The floor that builds indexes at the time when this contender does; dump and restore build them after the documents. */
function floorOf({ contender }: Pick<CopyRow, 'contender'>): string | undefined {
  if (contender.startsWith('floor')) return undefined;
  return contender.includes('before') ? 'floor, indexes before' : 'floor, indexes after';
}

/** The rows as a table in Markdown. */
export function tableOf(rows: readonly CopyRow[]): string {
  const head = [
    'set',
    'contender',
    's',
    'MB/s',
    'over floor',
    'tool CPU s',
    'mongod CPU s',
    'tool MiB',
  ];
  const lines = rows.map((row) => [
    row.set,
    row.contender,
    row.seconds.toFixed(1),
    row.megabytesPerSecond.toFixed(1),
    row.overFloor === undefined ? '' : row.overFloor.toFixed(2),
    row.toolCpuSeconds.toFixed(1),
    row.mongodCpuSeconds.toFixed(1),
    row.peakMebibytes.toFixed(0),
  ]);
  return markdownTable(head, lines, 2);
}

/** The seconds of each row as bars, one group for each set, as SVG. */
export function plotOf(rows: readonly CopyRow[]): string {
  const sets = [...new Set(rows.map(({ set }) => set))];
  return barsOf(
    sets.map((name) => ({
      title: `${name}: seconds`,
      bars: rows
        .filter(({ set }) => set === name)
        .map(({ contender, seconds }) => ({
          label: contender,
          value: seconds,
          text: seconds.toFixed(1),
          isOurs: contender.startsWith('clustersync'),
        })),
    })),
  );
}
