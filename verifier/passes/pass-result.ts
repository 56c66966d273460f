import type { PassRecord, PassResult, TaskCounts } from '../store/records.ts';

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

/**
 * What a pass has found, once it has ended. What was recorded at its end stays true, whatever the store tells of its tasks since: a new
 * primary may not have the latest of them yet.
 */
export function foundBy(
  { number }: Pick<PassRecord, 'number'>,
  { failed, added, processing }: Pick<TaskCounts, 'failed' | 'added' | 'processing'>,
  last: Pick<PassResult, 'generation' | 'mismatches'> | null,
): 'differences' | 'nothing' | 'unknown' {
  const recorded = last?.generation === number ? last : null;
  if (failed > 0 || (recorded !== null && recorded.mismatches > 0)) return 'differences';
  return recorded === null || added + processing > 0 ? 'unknown' : 'nothing';
}
