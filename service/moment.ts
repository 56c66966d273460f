/** A moment, in milliseconds by two clocks: one that runs while the process is stopped, and one while the machine is. */
export type Moment = readonly number[];

export function momentNow(): Moment {
  return [performance.now(), Date.now()];
}

/** The time of the moment that performance.now returned. */
export function monotonicMs([monotonic = 0]: Moment): number {
  return monotonic;
}

/** Milliseconds from one moment to another, by the clock that counts more. */
export function millisecondsBetween(earlier: Moment, later: Moment): number {
  return Math.max(...later.map((now, clock) => now - (earlier[clock] ?? 0)));
}
