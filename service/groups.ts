/** Items in their order, `size` of them at a time; the last group may have fewer. */
export function* inGroupsOf<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let first = 0; first < items.length; first += size) yield items.slice(first, first + size);
}
