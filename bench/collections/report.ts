import { markdownTable } from '../results.ts';
import { median } from '../statistics.ts';
import type { CollectionsResult } from './contenders.ts';

/** The results as a Markdown table: medians over the rounds, and the worst memory and delays. */
export function tableOf(results: readonly CollectionsResult[]): string {
  const names = [...new Set(results.map(({ contender }) => contender))];
  const secondsOf = (name: string): number | undefined => {
    const runs = results.filter(({ contender }) => contender === name);
    return runs.length > 0 ? median(runs.map(({ seconds }) => seconds)) : undefined;
  };
  const over = (name: string, floor: string): string => {
    const [own, other] = [secondsOf(name), secondsOf(floor)];
    return own === undefined || other === undefined ? '' : (own / other).toFixed(2);
  };
  const worst = (values: readonly (number | undefined)[]): string => {
    const known = values.filter((value) => value !== undefined);
    return known.length > 0 ? Math.max(...known).toFixed(0) : '';
  };
  const rows = names.map((name) => {
    const runs = results.filter(({ contender }) => contender === name);
    return [
      name,
      secondsOf(name)?.toFixed(1) ?? '',
      over(name, 'floor'),
      over(name, 'floor as mongorestore'),
      median(runs.map(({ tool }) => tool.cpuSeconds)).toFixed(1),
      worst(runs.map(({ tool }) => tool.peakMebibytes)),
      worst(runs.map(({ progressMs }) => progressMs?.p50)),
      worst(runs.map(({ progressMs }) => progressMs?.p99)),
      worst(runs.map(({ progressMs }) => progressMs?.max)),
      worst(runs.map(({ progressMs }) => progressMs?.maxWaitedForCore)),
    ];
  });
  const head = [
    'contender',
    's',
    'over floor',
    'over floor as mongorestore',
    'tool CPU s',
    'tool MiB',
    'progress p50 ms',
    'p99',
    'max',
    'of it waiting for a core',
  ];
  return markdownTable(head, rows, 1);
}
