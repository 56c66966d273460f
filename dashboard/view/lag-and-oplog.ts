import { durationText } from '../../service/quantities.ts';
import type { HistoryPoint } from '../api/messages.ts';
import type { SyncRow } from '../api/sync-view.ts';
import { pathsOf, placesIn, spanOf, type Paths } from './chart.ts';
import { durationAxis, type DurationAxis } from './duration-axis.ts';
import { isCopying } from './phase.ts';
import { steadyRate } from './rates.ts';
import { axisTime, copySecondsLeft } from './times.ts';

/** How far a sync is behind at a time, and how long the oplog still holds what it needs, in seconds; null if unknown. */
export type LagPoint = readonly [
  at: number,
  lagSeconds: number | null,
  oplogSeconds: number | null,
];

/** Both lines, in a square of 1 by 1 whose origin is at the top left. */
export interface LagDrawing {
  readonly axis: DurationAxis;
  readonly lag: Paths;
  readonly oplog: Paths;
  /** Data of an SVG path: from each place where the lag has crossed the oplog to where it has crossed it back; empty if nowhere. */
  readonly crossed: string;
  readonly from: number;
  readonly to: number;
}

/** Lag and oplog on one axis; undefined if there is no time between the points, or nothing known. */
export function lagDrawingOf(points: readonly LagPoint[]): LagDrawing | undefined {
  const span = spanOf(points);
  const known = points.flatMap(([, lag, oplog]) => [lag, oplog]).filter((each) => each !== null);
  if (!span || known.length === 0) return undefined;
  const axis = durationAxis(Math.max(...known));
  const { heightOf } = axis;
  const lag = points.map(([at, value]) => [at, value] as const);
  const oplog = points.map(([at, , value]) => [at, value] as const);
  const [from, to] = span;
  const x = placesIn(span);
  return {
    axis,
    lag: pathsOf(lag, span, heightOf),
    oplog: pathsOf(oplog, span, heightOf),
    crossed: crossedSpans(points, heightOf)
      .map(([start, end]) => `M${x(start)} 0H${x(end)}V1H${x(start)}Z`)
      .join(''),
    from,
    to,
  };
}

/** From when until when the lag is at least as high as the oplog: where the drawn lines meet. */
function crossedSpans(
  points: readonly LagPoint[],
  heightOf: (seconds: number) => number,
): readonly (readonly [start: number, end: number])[] {
  const spans: [start: number, end: number][] = [];
  for (const [index, point] of points.entries()) {
    const former = points[index - 1];
    const [before, now] = [former && aboveOplog(former, heightOf), aboveOplog(point, heightOf)];
    if (!former || before === undefined || now === undefined) continue;
    if (before < 0 && now < 0) continue;
    const meet = former[0] + ((point[0] - former[0]) * before) / (before - now);
    const [start, end] = [before < 0 ? meet : former[0], now < 0 ? meet : point[0]];
    const last = spans.at(-1);
    if (last?.[1] === start) last[1] = end;
    else spans.push([start, end]);
  }
  return spans;
}

/** How much higher the lag is drawn than the oplog; undefined if one is unknown. */
function aboveOplog(
  [, lag, oplog]: LagPoint,
  heightOf: (seconds: number) => number,
): number | undefined {
  return lag === null || oplog === null ? undefined : heightOf(lag) - heightOf(oplog);
}

/** A sync now, as the note under its chart needs it. */
export interface LagSituation {
  readonly lagSeconds: number | null;
  readonly oplogSeconds: number | null;
  readonly phase: string;
  readonly isCopying: boolean;
  /** Undefined if unknown. */
  readonly copySecondsLeft: number | undefined;
}

/** The situation of a sync that a page shows. */
export function situationOf(
  row: Pick<
    SyncRow,
    'lagSeconds' | 'oplogSeconds' | 'phase' | 'percent' | 'totalBytes' | 'copiedBytes'
  >,
  history: readonly HistoryPoint[],
): LagSituation {
  const { lagSeconds, oplogSeconds, phase, percent, totalBytes, copiedBytes } = row;
  // The rate of some seconds may be that of one large document.
  const bytesPerSecond = steadyRate(history);
  return {
    ...{ lagSeconds, oplogSeconds, phase },
    // A tool that does not say how much is copied may be past the copy.
    isCopying: percent !== null && isCopying(row),
    copySecondsLeft: copySecondsLeft({ totalBytes, copiedBytes, bytesPerSecond }),
  };
}

/** What the chart means for the sync. */
export interface LagNote {
  readonly text: string;
  /** The page of docs that says what to do, without the ending; undefined while nobody has to act. */
  readonly page?: string;
}

/** Says where the lines would cross, and what that means; or why there is only one of them. */
export function lagNote(now: LagSituation, points: readonly LagPoint[]): LagNote {
  const { lagSeconds, oplogSeconds, phase, isCopying, copySecondsLeft } = now;
  if (oplogSeconds === null) return { text: withoutOplog(phase, points) };
  if (oplogSeconds === 0) {
    return {
      text: 'The oplog no longer holds what the sync has yet to read: the sync has lost its position.',
      page: 'runbooks/oplog-rolled-over',
    };
  }
  const page = 'runbooks/oplog-window';
  if (lagSeconds !== null && lagSeconds >= oplogSeconds) {
    return {
      text: `The lag is higher than what is left of the oplog: enlarge it now. ${atNothing}`,
      page,
    };
  }
  if (isCopying && copySecondsLeft !== undefined && copySecondsLeft > oplogSeconds) {
    const left = durationText(copySecondsLeft);
    return {
      text: `The copy takes another ${left} at this rate, longer than the oplog lasts: enlarge it now. ${atNothing}`,
      page,
    };
  }
  if (oplogSeconds < Math.max(shortSeconds, 2 * (lagSeconds ?? 0))) {
    return {
      text: `Less than an hour is left of the oplog, or less than twice the lag: enlarge it, and let the sync continue. ${atNothing}`,
      page,
    };
  }
  if (lagSeconds === null) return { text: atNothing };
  // With each second, the lag grows by one, and one less is left of the oplog.
  const seconds = durationText((oplogSeconds - lagSeconds) / 2);
  return {
    text: isCopying
      ? `No change is applied during the copy: the lines cross in about ${seconds}, unless it ends before. ${atNothing}`
      : `If no more changes were applied, the lines would cross in about ${seconds}. ${atNothing}`,
  };
}

/** From where on the syncer warns, too. */
const shortSeconds = 3_600;

const atNothing = 'If the oplog lasts for 0 s, the sync has lost its position.';

function withoutOplog(phase: string, points: readonly LagPoint[]): string {
  if (phase === 'Committed') return 'The sync is over: nothing more is read from the source.';
  if (points.some(([, , oplog]) => oplog !== null)) {
    return 'How long the oplog lasts is not known now.';
  }
  return 'Only the lag: how long the oplog lasts is not reported. If the source is sharded, it never is: watch the oplog of each shard yourself.';
}

/** The chart in words, for those who do not see it. */
export function lagLabel(
  { lagSeconds, oplogSeconds }: Pick<LagSituation, 'lagSeconds' | 'oplogSeconds'>,
  points: readonly LagPoint[],
): string {
  const [from, to] = spanOf(points) ?? [0, 0];
  const lags = points.flatMap(([, lag]) => lag ?? []);
  const oplogs = points.flatMap(([, , oplog]) => oplog ?? []);
  const crossedAt = points.find(([, lag, oplog]) => lag !== null && oplog !== null && lag >= oplog);
  const parts = [
    lags.length === 0
      ? 'the lag is not known'
      : `lag ${wordsOf(lagSeconds)} now, at most ${durationText(Math.max(...lags))}`,
    oplogs.length === 0
      ? 'how long the oplog lasts is not known'
      : `oplog lasts ${wordsOf(oplogSeconds)} now, at least ${durationText(Math.min(...oplogs))}`,
    ...(crossedAt ? [`the lines crossed at ${axisTime(crossedAt[0], to - from)}`] : []),
  ];
  return `Lag and oplog in the last ${durationText(to - from)}: ${parts.join('; ')}`;
}

function wordsOf(seconds: number | null): string {
  return seconds === null ? 'not known' : durationText(seconds);
}
