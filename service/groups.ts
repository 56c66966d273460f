/** Items in their order, `size` of them at a time; the last group may have fewer. */
export function* inGroupsOf<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let first = 0; first < items.length; first += size) yield items.slice(first, first + size);
}

/** The limits of a group. */
export interface GroupLimits<T> {
  readonly maxItems: number;
  readonly maxBytes: number;
  readonly bytesOf: (item: T) => number;
}

/** Items in their order, as many at a time as fit within the limits; an item that is too large gets a group of its own. */
export function* inGroupsWithin<T>(
  items: Iterable<T>,
  { maxItems, maxBytes, bytesOf }: GroupLimits<T>,
): Generator<readonly T[], void> {
  let group: T[] = [];
  let groupBytes = 0;
  for (const item of items) {
    const bytes = bytesOf(item);
    if (group.length >= maxItems || (group.length > 0 && groupBytes + bytes > maxBytes)) {
      yield group;
      group = [];
      groupBytes = 0;
    }
    group.push(item);
    groupBytes += bytes;
  }
  if (group.length > 0) yield group;
}
