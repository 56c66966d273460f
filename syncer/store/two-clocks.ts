/** A moment, in milliseconds by two clocks: one that goes on while the process is stopped, one while the machine is. */
export type Moment = readonly number[];

export function momentNow(): Moment {
  return [performance.now(), Date.now()];
}

/** The one of its times that performance.now has given. */
export function monotonicMs([monotonic = 0]: Moment): number {
  return monotonic;
}

/** Milliseconds from one moment to another, by the clock on which they are more. */
export function millisecondsBetween(earlier: Moment, later: Moment): number {
  return Math.max(...later.map((now, clock) => now - (earlier[clock] ?? 0)));
}
