/** What an axis can begin and end with. The last one is the longest that a syncer says an oplog lasts. */
const markSeconds = [0, 1, 60, 3_600, 86_400, 30 * 86_400, 365 * 86_400] as const;

/** An axis that ends below this would say much about little. */
const leastTopSeconds = 60;

/** An axis of durations on which seconds and days can both be read. */
export interface DurationAxis {
  /** In seconds, the smallest first. */
  readonly marks: readonly number[];
  /** How high a duration in seconds is, from 0 at the bottom to 1 at the top. */
  readonly heightOf: (seconds: number) => number;
}

/**
 * A logarithmic axis that holds durations up to one. It begins with nothing, which has no logarithm: below one second, it is linear.
 * @param largestSeconds - a longer axis than to the longest mark ends there.
 */
export function durationAxis(largestSeconds: number): DurationAxis {
  const least = Math.max(leastTopSeconds, largestSeconds);
  const top = markSeconds.find((mark) => mark >= least) ?? least;
  return {
    marks: markSeconds.filter((mark) => mark <= top),
    heightOf: (seconds) => decadesOf(Math.max(0, seconds)) / decadesOf(top),
  };
}

/** How many decades up: the first one reaches from nothing to one second. */
function decadesOf(seconds: number): number {
  return seconds < 1 ? seconds : 1 + Math.log10(seconds);
}
