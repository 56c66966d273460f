import type { HistoryPoint } from '../api/messages.ts';
import type { ChartPoint } from './chart.ts';

/** The time over which a rate is taken. */
export const rateSeconds = 15;

/** A count of a history: `copied` in bytes, `applied` in events. */
export type Counted = 'copied' | 'applied';

/** How much of a count came per second, at each point of a history; null where that is unknown, or where the count restarted. */
export function ratesOf(history: readonly HistoryPoint[], counted: Counted): ChartPoint[] {
  const countAt = (index: number): number | null => {
    const [, copied = null, , applied = null] = history[index] ?? [];
    return counted === 'copied' ? copied : applied;
  };
  const isOld = (index: number, at: number): boolean =>
    (history[index]?.[0] ?? at) <= at - rateSeconds;
  let first = 0;
  return history.map(([at], index) => {
    // The rate begins at the newest known point that is at least that old, or at the oldest known one.
    while (first + 1 < index && (countAt(first) === null || isOld(first + 1, at))) first += 1;
    const seconds = at - (history[first]?.[0] ?? at);
    const [before, now] = [countAt(first), countAt(index)];
    // The newest point may be of the same second as the one before, and a clock can be set back.
    if (seconds <= 0 || before === null || now === null || now < before) return [at, null];
    return [at, (now - before) / seconds];
  });
}

/** What a rate has to be taken over before anybody is alarmed by it. */
const steadySeconds = 120;

/** The bytes copied per second over the last minutes of a history; null while it is shorter, or where the copy restarted. */
export function steadyRate(history: readonly HistoryPoint[]): number | null {
  const [at, copied = null] = history.at(-1) ?? [0];
  const [since, before = null] = history.findLast(([each]) => each <= at - steadySeconds) ?? [0];
  if (copied === null || before === null || copied < before) return null;
  return (copied - before) / (at - since);
}
