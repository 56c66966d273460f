import { markdownTable } from '../results.ts';
import { percentile } from '../statistics.ts';
import type { Requests } from './requests.ts';

/** Counts over a period. */
interface Span {
  readonly seconds: number;
  /** To the API server, by method. */
  readonly requests: Requests;
  /** Writes there, by kind. */
  readonly writes: Readonly<Record<string, number>>;
  /** Progress calls to the tools. */
  readonly polls: number;
  /** CPU seconds of the operator per second. */
  readonly cpuShare: number;
}

/** The results of a run. */
export interface OperatorFigures {
  readonly count: number;
  readonly madeSeconds: number;
  readonly startedSeconds: number;
  readonly reconciledSeconds: number;
  readonly resumedSeconds: number;
  readonly steady: Span;
  readonly idle: Span;
  /** From a change of spec.state to the command at the tool: from the answer of the API server, and in total. */
  readonly delaysMs: { readonly delays: readonly number[]; readonly wholes: readonly number[] };
  readonly peakMebibytes: number;
  readonly residentMebibytes: number;
}

/** The figures and their targets. */
export function tableOf(figures: OperatorFigures): string {
  const { count, steady, idle, delaysMs, peakMebibytes, residentMebibytes } = figures;
  const seconds = (value: number): string => `${value.toFixed(1)} s`;
  const { delays, wholes } = delaysMs;
  const milliseconds = (values: readonly number[], share: number): string =>
    `${percentile(values, share).toFixed()} ms`;
  const writesPerSecond = writesOf(steady.requests) / steady.seconds;
  const rows = [
    ['first start: all objects made', seconds(figures.madeSeconds), ''],
    ['then, with pods: all in sync', seconds(figures.startedSeconds), ''],
    [
      'restart, every spec.state changed meanwhile: all paused',
      seconds(figures.reconciledSeconds),
      '60 s',
    ],
    ['every spec.state changed at the same time: all resumed', seconds(figures.resumedSeconds), ''],
    ['spec.state stored to command, p50', milliseconds(delays, 0.5), ''],
    ['spec.state stored to command, p99', milliseconds(delays, 0.99), '1000 ms'],
    ['the same with the storing, p50', milliseconds(wholes, 0.5), ''],
    ['the same with the storing, p99', milliseconds(wholes, 0.99), ''],
    ['active: writes a second, for 100', ((writesPerSecond / count) * 100).toFixed(2), '1'],
    ['active: what is written', kindsText(steady.writes), ''],
    ['active: reads a second', (readsOf(steady.requests) / steady.seconds).toFixed(2), ''],
    ['active: progress calls a second', (steady.polls / steady.seconds).toFixed(0), ''],
    ['active: CPU of the operator', `${(steady.cpuShare * 100).toFixed(0)} %`, ''],
    [
      'idle: requests, without the lease',
      String(writesOf(idle.requests) + readsOf(idle.requests)),
      '0',
    ],
    ['idle: what is written', kindsText(idle.writes), ''],
    ['idle: progress calls a second', (idle.polls / idle.seconds).toFixed(0), ''],
    ['idle: CPU of the operator', `${(idle.cpuShare * 100).toFixed(0)} %`, ''],
    ['memory, at the end', `${residentMebibytes.toFixed()} MiB`, ''],
    ['memory, at most', `${peakMebibytes.toFixed()} MiB`, '350 MB'],
  ];
  return markdownTable(['', 'found', 'below'], rows, 1);
}

/** All writes except the renewals of the lease, which are the only PUTs. */
function writesOf(requests: Requests): number {
  return ['POST', 'PATCH', 'DELETE'].reduce((sum, method) => sum + (requests[method] ?? 0), 0);
}

function kindsText(writes: Span['writes']): string {
  const texts = Object.entries(writes).map(([kind, count]) => `${kind}: ${count}`);
  return texts.length === 0 ? 'nothing' : texts.join(', ');
}

function readsOf(requests: Requests): number {
  return requests['GET'] ?? 0;
}
