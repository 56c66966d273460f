import { inTurnOfDay } from '../ground/workload/chosen-seeds.ts';

/** How many of the others begin after each long file: they outlast these, and so no long file begins last. */
const othersForEach = 2;

/**
 * The files in the order in which they begin.
 * @param long - the ends of the paths of those that take long, the longest first.
 * @param isLimited - whether the last of them may be left out: long and other files then take turns, and begin with others each day.
 */
export function orderOfFiles(
  files: readonly string[],
  long: readonly string[],
  isLimited: boolean,
): readonly string[] {
  const sorted = files.toSorted();
  const longFiles = long.flatMap((end) => sorted.filter((file) => file.endsWith(end)));
  const others = sorted.filter((file) => !longFiles.includes(file));
  if (!isLimited) return [...longFiles, ...others];
  const rest = inTurnOfDay(others);
  const inTurn = inTurnOfDay(longFiles).flatMap((file, index) => [
    file,
    ...rest.slice(index * othersForEach, (index + 1) * othersForEach),
  ]);
  return [...inTurn, ...rest.slice(longFiles.length * othersForEach)];
}
