import type { PassRecord, PassResult } from '../store/records.ts';

/** A pass that takes no longer compares changes soon after they were made. */
const shortMs = 60_000;

/**
 * What is recorded of a pass at its end.
 * @param last - what was recorded last: of the pass before, or of this one, by a coordinator that did not get further.
 */
export function passResult(
  { number: generation, startedAt }: Pick<PassRecord, 'number' | 'startedAt'>,
  last: PassResult | null,
  found: Omit<PassResult, 'generation' | 'shortSince'>,
): PassResult {
  if (last?.generation === generation) return last;
  const isShort =
    last?.generation === generation - 1 && found.endedAt.getTime() - startedAt.getTime() <= shortMs;
  return { ...found, generation, shortSince: isShort ? last.shortSince : found.endedAt };
}
