const goldenRatio = (Math.sqrt(5) - 1) / 2;

/**
 * Puts parts of a collection, which are in the order of `_id`, in an order in which those that come soon after each other are far
 * apart, whichever way the collection is cut into chunks: where a shard key rises or falls with `_id`, all shards have something
 * to write from the beginning. The places of any number of first parts are spread evenly (a sequence of multiples of the
 * golden ratio).
 */
export function farApart<T>(ordered: readonly T[]): T[] {
  const turns = ordered
    .map((_, turn) => ({ turn, place: (turn * goldenRatio) % 1 }))
    .sort((one, other) => one.place - other.place)
    .map(({ turn }) => turn);
  return ordered
    .map((part, index) => ({ part, turn: turns[index] ?? 0 }))
    .sort((one, other) => one.turn - other.turn)
    .map(({ part }) => part);
}
