/** A point of a chart; null if the value is unknown. */
export type ChartPoint = readonly [at: number, value: number | null];

/** A line, in a square of 1 by 1 whose origin is at the top left. */
export interface Paths {
  /** Data of an SVG path: the line. */
  readonly line: string;
  /** The same, closed along the bottom. */
  readonly area: string;
}

/** The drawing of a line that fills the square. */
export interface Drawing extends Paths {
  readonly from: number;
  readonly to: number;
  /** The value at the top. */
  readonly top: number;
}

/**
 * A line through points in order of time, with gaps for unknown values.
 * @param least - lower bound of the value at the top.
 */
export function drawingOf(points: readonly ChartPoint[], least = 1): Drawing | undefined {
  const span = spanOf(points);
  if (!span) return undefined;
  const top = Math.max(least, ...points.map(([, value]) => value ?? 0));
  const [from, to] = span;
  return { ...pathsOf(points, span, (value) => value / top), from, to, top };
}

/** The first and the last of the times; undefined if there is no time between them. */
export function spanOf(
  points: readonly (readonly [at: number, ...unknown[]])[],
): readonly [from: number, to: number] | undefined {
  const [first] = points;
  const last = points.at(-1);
  return !first || !last || last[0] === first[0] ? undefined : [first[0], last[0]];
}

/** How far right each time of a span is. */
export function placesIn([from, to]: readonly [from: number, to: number]): (at: number) => string {
  return (at) => rounded((at - from) / (to - from));
}

/**
 * A line through points in order of time, with gaps for unknown values.
 * @param heightOf - how high a value is, from 0 at the bottom to 1 at the top.
 */
export function pathsOf(
  points: readonly ChartPoint[],
  span: readonly [from: number, to: number],
  heightOf: (value: number) => number,
): Paths {
  const [from, to] = span;
  const x = placesIn(span);
  const runs = runsOf(points).map((run) => ({
    line: run.map(([at, value]) => `${x(at)} ${rounded(1 - heightOf(value))}`).join('L'),
    start: x(run[0]?.[0] ?? from),
    end: x(run.at(-1)?.[0] ?? to),
  }));
  return {
    line: runs.map(({ line }) => `M${line}`).join(''),
    area: runs.map(({ line, start, end }) => `M${start} 1L${line}L${end} 1Z`).join(''),
  };
}

/** A round value at or above another, half of which is round, too: 2, 4, 6 or 10 times a power of ten; at least 2. */
export function roundUp(value: number): number {
  if (value <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 4, 6, 10].find((each) => each * power >= value) ?? 10;
  return factor * power;
}

/** The point nearest to a time. */
export function nearest<Point extends readonly [at: number, ...unknown[]]>(
  points: readonly Point[],
  at: number,
): Point | undefined {
  let found: Point | undefined;
  for (const point of points) {
    if (found === undefined || Math.abs(point[0] - at) <= Math.abs(found[0] - at)) found = point;
  }
  return found;
}

function runsOf(
  points: readonly ChartPoint[],
): readonly (readonly (readonly [number, number])[])[] {
  const runs: (readonly [number, number])[][] = [];
  let isOpen = false;
  for (const [at, value] of points) {
    if (value === null) {
      isOpen = false;
      continue;
    }
    if (!isOpen) runs.push([]);
    isOpen = true;
    runs.at(-1)?.push([at, value]);
  }
  return runs;
}

function rounded(value: number): string {
  return String(Math.round(value * 10_000) / 10_000);
}
