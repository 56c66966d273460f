import { durationText, percentText } from '../../service/quantities.ts';

/** What limits hold back, and what that costs. */
export interface HeldBack {
  readonly heldBackBy: readonly string[];
  readonly secondsHeldBack: number;
  /** From 0 to 1. */
  readonly shareOfLastMinute: number;
}

/** What limits cost, in words; the names of the limits are as the tool reports them. */
export function heldBackText(heldBack: HeldBack): string {
  const { heldBackBy } = heldBack;
  const cost = heldBackCost(heldBack);
  return heldBackBy.length === 0
    ? `not held back now; ${cost}`
    : `held back by ${heldBackBy.join(' and ')}: ${cost}`;
}

/** What they cost, without their names. */
export function heldBackCost({ secondsHeldBack, shareOfLastMinute }: HeldBack): string {
  return `${percentText(shareOfLastMinute)} of the last minute, ${durationText(secondsHeldBack)} in total`;
}
