import type { HistoryPoint } from '../api/messages.ts';
import { rateSeconds } from '../view/rates.ts';

/** Figures of a sync at a time. */
export interface Figures {
  readonly copiedBytes: number | null;
  readonly lagSeconds: number | null;
  readonly eventsApplied: number | null;
  readonly oplogSeconds: number | null;
}

/** Points of one sync: enough for a chart. */
const maxPoints = 240;
const rateMs = rateSeconds * 1_000;

/**
 * The figures of a sync since it was first seen: a bounded number of points, which become sparser with time,
 * so that they always cover the whole time. Each has the longest lag and the smallest oplog since the one before.
 */
export class History {
  #points: HistoryPoint[] = [];
  /** The newest figures, even if they are too close to the last point to be one. */
  #latest: HistoryPoint | undefined;
  /** What came between the last point and the newest figures, as one point. */
  #between: HistoryPoint | undefined;
  #intervalSeconds = 1;
  /** Of the last seconds, for the rates. */
  #recent: { readonly atMs: number; readonly figures: Figures }[] = [];

  add(atMs: number, figures: Figures): void {
    const atSeconds = Math.round(atMs / 1_000);
    const point: HistoryPoint = [
      atSeconds,
      figures.copiedBytes,
      figures.lagSeconds,
      figures.eventsApplied,
      figures.oplogSeconds,
    ];
    this.#recent.push({ atMs, figures });
    // A point as old as the period of the rates is kept: they begin there.
    while ((this.#recent[1]?.atMs ?? Infinity) <= atMs - rateMs) this.#recent.shift();
    this.#append(point);
    if (this.#points.length >= maxPoints) this.#thinOut();
  }

  /** Oldest first; the last is the newest there is. */
  get points(): readonly HistoryPoint[] {
    const newest = [this.#between, this.#latest].filter((point) => point !== undefined);
    return [...this.#points, ...newest];
  }

  get bytesPerSecond(): number | null {
    return this.#rate('copiedBytes');
  }

  get eventsPerSecond(): number | null {
    return this.#rate('eventsApplied');
  }

  /** Null if unknown, or if the count has restarted. */
  #rate(field: 'copiedBytes' | 'eventsApplied'): number | null {
    const [first] = this.#recent;
    const last = this.#recent.at(-1);
    const [from, to] = [first?.figures[field] ?? null, last?.figures[field] ?? null];
    if (!first || !last || from === null || to === null || to < from) return null;
    const seconds = (last.atMs - first.atMs) / 1_000;
    return seconds < 1 ? null : Math.round((to - from) / seconds);
  }

  #append(point: HistoryPoint): void {
    const last = this.#points.at(-1);
    const before = this.#latest && joined(this.#between, this.#latest);
    if (last === undefined || point[0] - last[0] >= this.#intervalSeconds) {
      this.#points.push(joined(before, point));
      this.#between = undefined;
      this.#latest = undefined;
    } else {
      this.#between = before;
      this.#latest = point;
    }
  }

  #thinOut(): void {
    this.#intervalSeconds *= 2;
    const points = this.#points;
    this.#points = [];
    for (const point of points) this.#append(point);
  }
}

/** Two points as one at the time of the later: with the longest lag and the smallest oplog that are known of both. */
function joined(earlier: HistoryPoint | undefined, later: HistoryPoint): HistoryPoint {
  if (earlier === undefined) return later;
  const [atSeconds, copiedBytes, lagSeconds, eventsApplied, oplogSeconds] = later;
  const longestLag = extreme(Math.max, earlier[2], lagSeconds);
  const smallestOplog = extreme(Math.min, earlier[4], oplogSeconds);
  return [atSeconds, copiedBytes, longestLag, eventsApplied, smallestOplog];
}

function extreme(
  of: (one: number, other: number) => number,
  one: number | null,
  other: number | null,
): number | null {
  return one === null || other === null ? (one ?? other) : of(one, other);
}
