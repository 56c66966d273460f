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
 * so that they always cover the whole time.
 */
export class History {
  #points: HistoryPoint[] = [];
  /** The newest figures, even if they are too close to the last point to be one. */
  #latest: HistoryPoint | undefined;
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
    const last = this.#points.at(-1);
    if (last === undefined || atSeconds - last[0] >= this.#intervalSeconds) {
      this.#points.push(point);
      this.#latest = undefined;
      if (this.#points.length >= maxPoints) this.#thinOut();
    } else {
      this.#latest = point;
    }
  }

  /** Oldest first; the last is the newest there is. */
  get points(): readonly HistoryPoint[] {
    return this.#latest === undefined ? this.#points : [...this.#points, this.#latest];
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

  #thinOut(): void {
    this.#intervalSeconds *= 2;
    this.#points = this.#points.filter((_, index) => index % 2 === 0);
  }
}
