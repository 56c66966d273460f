import type { PassRecord, PassResult } from '../store/records.ts';

/** What a pass has found. */
export interface FoundByPass {
  readonly mismatches: number;
  /** Those that the pass before has found, too, of documents that have not changed since. */
  readonly lasting: number;
  /** Tasks that have found differences. */
  readonly failed: number;
  /** True if there were more differences than are stored. */
  readonly isOverflowing: boolean;
}

/**
 * How many differences of a pass may be real: all of them, unless what it has found is explained by documents that change while they
 * are compared. That is so if the pass before has found differences as well, and each of them is gone, or its document has changed
 * again. A document that really differs is then counted by the next pass.
 * @param former - the result of the pass before; undefined if there was none, or it is not known.
 */
export function unresolvedMismatches(
  { mismatches, lasting, failed, isOverflowing }: FoundByPass,
  former: PassResult | undefined,
): number {
  const found = Math.max(mismatches, failed);
  const isExplained = lasting === 0 && !isOverflowing && (former?.mismatches ?? 0) > 0;
  return isExplained ? 0 : found;
}

/** The result of the pass before a pass, if it is what was recorded last. */
export function formerOf(
  { number }: Pick<PassRecord, 'number'>,
  last: PassResult | null,
): PassResult | undefined {
  return last?.generation === number - 1 ? last : undefined;
}
