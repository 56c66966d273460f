/**
 * Calls `run` for every item, at most `limit` at a time, and resolves when all have ended. After the first error no further
 * items are started; it is thrown once the running ones have ended.
 */
export async function forEachConcurrently<T>(
  items: Iterable<T>,
  limit: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failure: { readonly error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    try {
      for (let next = iterator.next(); !next.done && !failure; next = iterator.next())
        await run(next.value);
    } catch (error) {
      failure ??= { error };
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
  if (failure) throw failure.error;
}

/**
 * As `forEachConcurrently`, for items that `produce` gives one after the other while earlier ones are worked on. The number of
 * waiting items is unbounded. After a failure no more can be given: that throws it.
 * @returns what `produce` returns, when all work has ended.
 */
export async function forEachAsGiven<T, R>(
  produce: (give: (item: T) => void) => Promise<R>,
  limit: number,
  run: (item: T) => Promise<void>,
): Promise<R> {
  const waiting: (() => Promise<void>)[] = [];
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  const fail = (error: unknown): void => {
    failure ??= { error };
  };
  const begin = (): void => {
    while (running.size < limit && !failure) {
      const next = waiting.shift();
      if (!next) return;
      const task = next()
        .catch(fail)
        .finally(() => {
          running.delete(task);
          begin();
        });
      running.add(task);
    }
  };
  const [produced] = await Promise.allSettled([
    produce((item) => {
      if (failure) throw failure.error;
      waiting.push(async () => {
        await run(item);
      });
      begin();
    }),
  ]);
  if (produced.status === 'rejected') fail(produced.reason);
  while (running.size > 0) await Promise.race(running);
  if (produced.status === 'rejected' || failure) throw failure?.error;
  return produced.value;
}
