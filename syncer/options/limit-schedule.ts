import type { Limits } from '../../sync-api/json.ts';

/** A time of the day at which other limits hold. */
export type LimitWindow = NonNullable<Limits['schedule']>[number];

/** The limits of a moment: without a schedule. */
export type LimitsNow = Omit<Limits, 'schedule'>;

const minutesOfDay = 24 * 60;

/**
 * The limits that hold at a time: those of the first window that it is in take the place of the others. A window begins with the
 * minute `from`, and ends before the minute `to`, by the clocks of its time zone: one that goes back shows a minute twice, and one
 * that goes forward leaves minutes out. A window that ends before it begins goes over midnight; from and to the same time, it is all
 * day.
 * @param atMs - since 1970.
 */
export function limitsAt({ schedule = [], ...limits }: Limits, atMs: number): LimitsNow {
  const window = windowAt(schedule, atMs);
  if (!window) return limits;
  const { from: _from, to: _to, timeZone: _timeZone, ...own } = window;
  return { ...limits, ...own };
}

/** The first window that a time is in. It is in none whose time zone is unknown. */
export function windowAt(schedule: readonly LimitWindow[], atMs: number): LimitWindow | undefined {
  return schedule.find((window) => {
    const { timeZone = 'UTC' } = window;
    return isTimeZone(timeZone) && isIn(window, minuteOfDay(atMs, timeZone));
  });
}

/** The time zones of a schedule that this system does not know: a record may be from another one. */
export function unknownTimeZones({ schedule = [] }: Limits): string[] {
  const timeZones = schedule.map(({ timeZone = 'UTC' }) => timeZone);
  return [...new Set(timeZones.filter((timeZone) => !isTimeZone(timeZone)))];
}

/** Whether a clock of a time zone is known. */
export function isTimeZone(timeZone: string): boolean {
  try {
    formatOf(timeZone);
    return true;
  } catch {
    return false;
  }
}

function isIn({ from, to }: LimitWindow, minute: number): boolean {
  const [begin, end] = [minuteIn(from), minuteIn(to)];
  const length = (end - begin + minutesOfDay) % minutesOfDay || minutesOfDay;
  return (minute - begin + minutesOfDay) % minutesOfDay < length;
}

/** The minute of `HH:MM`. */
function minuteIn(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
}

function minuteOfDay(atMs: number, timeZone: string): number {
  const parts = formatOf(timeZone).formatToParts(atMs);
  const valueOf = (type: 'hour' | 'minute'): number =>
    Number(parts.find((part) => part.type === type)?.value);
  return valueOf('hour') * 60 + valueOf('minute');
}

/** By time zone: creating one is slow, and one is needed every second. A schedule has fewer windows than this. */
const formats = new Map<string, Intl.DateTimeFormat>();
const maxFormats = 64;

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en', {
    ...{ timeZone, hourCycle: 'h23', hour: '2-digit', minute: '2-digit' },
  });
  if (formats.size >= maxFormats) formats.clear();
  formats.set(timeZone, format);
  return format;
}
