import { markdownTable } from '../results.ts';
import { percentile } from '../statistics.ts';
import { neighbourhoods, type Neighbourhood } from './neighbours.ts';
import type { Reactions } from './quiet.ts';

/** What was found beside some neighbours. */
export interface FairnessFigures extends Reactions {
  readonly neighbourhood: Neighbourhood;
  /** CPU seconds of the operator in each second. */
  readonly cpuShare: number;
  readonly peakMebibytes: number;
  readonly restarts: number;
}

/** The reactions of the quiet ClusterSyncs, beside what is aimed at. */
export function tableOf(all: readonly FairnessFigures[]): string {
  const alone = all.find(({ neighbourhood }) => neighbourhood === 'alone');
  const more = (values: readonly number[], base: readonly number[] | undefined): string =>
    base ? `${(percentile(values, 0.99) - percentile(base, 0.99)).toFixed()} ms` : '';
  const ms = (values: readonly number[], share: number): string =>
    `${percentile(values, share).toFixed()} ms`;
  const row = (what: string, below: string, value: (each: FairnessFigures) => string): string[] => [
    what,
    ...all.map(value),
    below,
  ];
  return markdownTable(
    ['beside', ...all.map(({ neighbourhood }) => neighbourhoods[neighbourhood]), 'below'],
    [
      row('spec stored to status, p50', '', ({ specMs }) => ms(specMs, 0.5)),
      row('spec stored to status, p99', '', ({ specMs }) => ms(specMs, 0.99)),
      row('more than alone', '1000 ms', ({ specMs }) => more(specMs, alone?.specMs)),
      row('answer changed to status, p50', '', ({ answerMs }) => ms(answerMs, 0.5)),
      row('answer changed to status, p99', '', ({ answerMs }) => ms(answerMs, 0.99)),
      row('more than alone', '1000 ms', ({ answerMs }) => more(answerMs, alone?.answerMs)),
      row('CPU of the operator', '', ({ cpuShare }) => `${(cpuShare * 100).toFixed()} %`),
      row('memory of the operator, at most', '350 MB', ({ peakMebibytes }) => {
        return `${peakMebibytes.toFixed()} MiB`;
      }),
      row('restarts of the operator', '1', ({ restarts }) => String(restarts)),
    ],
    1,
  );
}
