import { durationText, percentText } from '../../service/quantities.ts';

/** What limits hold back, and what that costs. */
interface HeldBack {
  readonly heldBackBy: readonly string[];
  readonly secondsHeldBack: number;
  /** From 0 to 1. */
  readonly shareOfLastMinute: number;
}

/** What limits cost, in words; the names of the limits are as the tool reports them. */
export function heldBackText({ heldBackBy, secondsHeldBack, shareOfLastMinute }: HeldBack): string {
  const cost = `${percentText(shareOfLastMinute)} of the last minute, ${durationText(secondsHeldBack)} in total`;
  return heldBackBy.length === 0
    ? `not held back now; ${cost}`
    : `held back by ${heldBackBy.join(' and ')}: ${cost}`;
}
