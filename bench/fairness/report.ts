import { markdownTable } from '../results.ts';
import { percentile } from '../statistics.ts';
import { neighbourhoods, type Neighbourhood } from './neighbours.ts';
import type { Reactions } from './quiet.ts';

/** The results for one kind of neighbour. */
export interface FairnessFigures {
  readonly neighbourhood: Neighbourhood;
  /** For the operator that also serves the neighbours. */
  readonly quiet: Reactions;
  /** For another operator on the same API server, at the same time, that does not. */
  readonly control: Reactions;
  /** CPU seconds of the operator per second. */
  readonly cpuShare: number;
  readonly peakMebibytes: number;
  readonly restarts: number;
}

/** The operator's reactions to the quiet ClusterSyncs, those of the other operator, and the targets. */
export function tableOf(all: readonly FairnessFigures[]): string {
  const row = (what: string, below: string, value: (each: FairnessFigures) => string): string[] => [
    what,
    ...all.map(value),
    below,
  ];
  const rowsOf = (what: string, of: (reactions: Reactions) => readonly number[]): string[][] => {
    const ms = (reactions: Reactions, share: number): number => percentile(of(reactions), share);
    const text = (value: number): string => `${value.toFixed()} ms`;
    const both = (share: number) => (each: FairnessFigures) =>
      `${text(ms(each.quiet, share))} (${text(ms(each.control, share))})`;
    return [
      row(`${what}, p50`, '', both(0.5)),
      row(`${what}, p99`, '', both(0.99)),
      row('p99 of the one less that of the other', '1000 ms', ({ quiet, control }) =>
        text(ms(quiet, 0.99) - ms(control, 0.99)),
      ),
    ];
  };
  return markdownTable(
    ['beside', ...all.map(({ neighbourhood }) => neighbourhoods[neighbourhood]), 'below'],
    [
      ...rowsOf('spec stored to status', ({ specMs }) => specMs),
      ...rowsOf('answer changed to status', ({ answerMs }) => answerMs),
      row('CPU of the operator', '', ({ cpuShare }) => `${(cpuShare * 100).toFixed()} %`),
      row('memory of the operator, at most', '350 MB', ({ peakMebibytes }) => {
        return `${peakMebibytes.toFixed()} MiB`;
      }),
      row('restarts of the operator', '1', ({ restarts }) => String(restarts)),
    ],
    1,
  );
}
