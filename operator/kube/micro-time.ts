/**
 * A time as Kubernetes' MicroTime: exactly six fractional digits.
 * The API server rejects a Lease or an Event whose time has the three digits of `Date.toISOString()`.
 * @param wallMs - milliseconds since 1970; fractions are kept to the microsecond.
 */
export function microTime(wallMs: number): string {
  const wholeMs = Math.floor(wallMs);
  const micros = Math.floor((wallMs - wholeMs) * 1000);
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${micros.toString().padStart(3, '0')}Z`;
}

/** A time as Kubernetes' Time: whole seconds. */
export function secondTime(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`;
}
