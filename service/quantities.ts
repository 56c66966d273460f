const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** Bytes in decimal units, with about three digits: `1.2 GB`. */
export function bytesText(bytes: number): string {
  let value = Math.max(0, bytes);
  let unit = 0;
  while (value >= 999.5 && unit < byteUnits.length - 1) {
    value /= 1000;
    unit++;
  }
  const text = unit === 0 || value >= 99.95 ? value.toFixed(0) : value.toFixed(1);
  return `${text} ${byteUnits[unit] ?? ''}`;
}

/** A whole number with thousands separators: `1,234,567`. */
export function countText(count: number): string {
  return Math.round(count).toLocaleString('en-GB');
}

/** A count with its noun: `1 document`, `2 documents`. */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${countText(count)} ${count === 1 ? noun : plural}`;
}

/** A rate: below ten with one decimal. */
export function rateText(perSecond: number): string {
  return perSecond > 0 && perSecond < 9.95 ? perSecond.toFixed(1) : countText(perSecond);
}

/** Seconds as the two largest units: `4 s`, `1 min 5 s`, `2 h 3 min`, `5 d 1 h`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const units: readonly (readonly [string, number])[] = [
    ['d', Math.floor(whole / 86_400)],
    ['h', Math.floor(whole / 3600) % 24],
    ['min', Math.floor(whole / 60) % 60],
    ['s', whole % 60],
  ];
  const first = units.findIndex(([, value]) => value > 0);
  if (first === -1) return '0 s';
  return units
    .slice(first, first + 2)
    .filter(([, value]) => value > 0)
    .map(([unit, value]) => `${value} ${unit}`)
    .join(' ');
}

/** A share in percent. It is 100 only when everything is done, and 0 only when nothing is. */
export function percentText(fraction: number): string {
  const percent = Math.min(1, Math.max(0, fraction)) * 100;
  if (percent > 99 && percent < 100) return '99 %';
  if (percent > 0 && percent < 1) return '1 %';
  return `${Math.round(percent)} %`;
}
