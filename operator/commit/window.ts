import type { ConditionCause } from '../operand/condition-cause.ts';
import type { CommitOptions } from './hold.ts';

/** `spec.commit.notBefore` and `spec.commit.notAfter`. */
export type WindowOptions = Pick<CommitOptions, 'notBefore' | 'notAfter'>;

/** Whether an automatic commit may begin now. Without limits, the window is always open. */
export type CommitWindow =
  | { readonly kind: 'early'; readonly opensAt: string }
  | { readonly kind: 'open' }
  | { readonly kind: 'over' };

/**
 * Where a moment is in the window: open from `notBefore` on, over from `notAfter` on. A time that cannot be read keeps the window closed,
 * although the definition of the resource lets none in.
 */
export function windowAt(nowMs: number, options: WindowOptions): CommitWindow {
  const { notBefore } = options;
  if (nowMs >= windowEndMs(options)) return { kind: 'over' };
  if (notBefore === undefined || nowMs >= Date.parse(notBefore)) return { kind: 'open' };
  return { kind: 'early', opensAt: notBefore };
}

/** When the window is over, milliseconds since 1970: never without `notAfter`, and long ago if that cannot be read. */
export function windowEndMs({ notAfter }: WindowOptions): number {
  if (notAfter === undefined) return Infinity;
  const endMs = Date.parse(notAfter);
  return Number.isNaN(endMs) ? 0 : endMs;
}

/**
 * Why a commit that did not begin in the window no longer begins.
 * @param obstacle - what would keep it from beginning now, too.
 */
export function windowMissed(
  { notAfter = '' }: WindowOptions,
  obstacle: ConditionCause | undefined,
): ConditionCause {
  const other = obstacle ? ` (${obstacle.reason} would keep it from beginning now, too)` : '';
  return {
    reason: 'CommitWindowMissed',
    message: `the commit did not begin before ${notAfter}${other}: set a later time in spec.commit.notAfter, or remove it`,
    level: 'stalled',
  };
}

/** How long until the window opens; for ever if its beginning cannot be read. */
export function untilOpenMs(opensAt: string, nowMs: number): number {
  const ms = Date.parse(opensAt) - nowMs;
  return Number.isNaN(ms) ? Infinity : Math.max(0, ms);
}

/** What the conditions add before the window opens. */
export function textUntilWindow(notBefore: string): string {
  return `the automatic commit waits until ${notBefore} (spec.commit.notBefore)`;
}
