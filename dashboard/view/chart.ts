/** A point of a chart; null if the value is unknown. */
export type ChartPoint = readonly [at: number, value: number | null];

/** The drawing, in a square of 1 by 1 whose origin is at the top left. */
export interface Drawing {
  /** Data of an SVG path: the line. */
  readonly line: string;
  /** The same, closed along the bottom. */
  readonly area: string;
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
  const [first] = points;
  const last = points.at(-1);
  if (!first || !last || last[0] === first[0]) return undefined;
  const [from, to] = [first[0], last[0]];
  const top = Math.max(least, ...points.map(([, value]) => value ?? 0));
  const runs = runsOf(points).map((run) =>
    run.map(([at, value]) => `${rounded((at - from) / (to - from))} ${rounded(1 - value / top)}`),
  );
  const starts = runsOf(points).map((run) => [run[0]?.[0] ?? from, run.at(-1)?.[0] ?? to] as const);
  return {
    line: runs.map((run) => `M${run.join('L')}`).join(''),
    area: runs
      .map((run, index) => {
        const [start, end] = starts[index] ?? [from, to];
        const x = (at: number): string => rounded((at - from) / (to - from));
        return `M${x(start)} 1L${run.join('L')}L${x(end)} 1Z`;
      })
      .join(''),
    from,
    to,
    top,
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
export function nearest(points: readonly ChartPoint[], at: number): ChartPoint | undefined {
  let found: ChartPoint | undefined;
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
