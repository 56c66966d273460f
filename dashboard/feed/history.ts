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
 * so that they always cover the whole time. Each but the newest has the longest lag and the smallest oplog since the
 * one before; the newest has its figures as they are.
 */
export class History {
  #points: HistoryPoint[] = [];
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
    if (this.#latest) this.#keep(this.#latest);
    this.#latest = point;
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

  #keep(point: HistoryPoint): void {
    const last = this.#points.at(-1);
    const kept = joined(this.#between, point);
    const isFarEnough = last === undefined || point[0] - last[0] >= this.#intervalSeconds;
    if (isFarEnough) this.#points.push(kept);
    this.#between = isFarEnough ? undefined : kept;
  }

  #thinOut(): void {
    this.#intervalSeconds *= 2;
    const points = this.#between ? [...this.#points, this.#between] : this.#points;
    this.#points = [];
    this.#between = undefined;
    for (const point of points) this.#keep(point);
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
