import { durationText } from '../../service/quantities.ts';

/** Seconds from one ISO time to another, or to now; undefined if one is unknown. */
export function secondsBetween(
  from: string | null,
  to: string | number | null,
): number | undefined {
  if (from === null || to === null) return undefined;
  const seconds = (new Date(to).getTime() - Date.parse(from)) / 1_000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

/** How long ago a time is: `3 min ago`. Only the largest unit; `just now` below five seconds. */
export function agoText(at: string, nowMs: number): string {
  const seconds = secondsBetween(at, nowMs);
  if (seconds === undefined) return '';
  return seconds < 5 ? 'just now' : `${largestUnit(seconds)} ago`;
}

/** How old something is: `3 min`. Only the largest unit; empty if unknown. */
export function ageText(createdAt: string | null, nowMs: number): string {
  const seconds = secondsBetween(createdAt, nowMs);
  return seconds === undefined ? '' : largestUnit(seconds);
}

function largestUnit(seconds: number): string {
  return durationText(seconds).split(' ').slice(0, 2).join(' ');
}

/** The local time at an end of an axis: with seconds if it spans less than an hour, with the date if more than a day. */
export function axisTime(atSeconds: number, spanSeconds: number): string {
  const second = spanSeconds < 3_600 ? ({ second: '2-digit' } as const) : {};
  const date = spanSeconds > 86_400 ? ({ day: 'numeric', month: 'short' } as const) : {};
  return new Date(atSeconds * 1_000).toLocaleString('en-GB', {
    ...{ hour: '2-digit', minute: '2-digit' },
    ...second,
    ...date,
  });
}

/**
 * The time until everything is copied, at the current rate.
 * @returns undefined if unknown.
 */
export function copySecondsLeft({
  totalBytes,
  copiedBytes,
  bytesPerSecond,
}: {
  readonly totalBytes: number | null;
  readonly copiedBytes: number | null;
  readonly bytesPerSecond: number | null;
}): number | undefined {
  if (totalBytes === null || copiedBytes === null || !bytesPerSecond) return undefined;
  return totalBytes > copiedBytes ? (totalBytes - copiedBytes) / bytesPerSecond : undefined;
}
