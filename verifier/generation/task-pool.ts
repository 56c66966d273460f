/**
 * Runs tasks, at most `limit` at a time; a task may add further ones. Resolves when all are done; the first error stops
 * further tasks from being begun and is thrown when those under way have ended.
 */
export async function runTasks<T extends object>(
  tasks: Iterable<T>,
  limit: number,
  run: (task: T, add: (more: readonly T[]) => void) => Promise<void>,
): Promise<void> {
  const iterator = tasks[Symbol.iterator]();
  const added: T[] = [];
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  const next = (): T | undefined => {
    const first = added.shift();
    if (first !== undefined) return first;
    const result = iterator.next();
    return result.done === true ? undefined : result.value;
  };
  const add = (more: readonly T[]): void => {
    added.push(...more);
  };
  for (;;) {
    while (!failure && running.size < limit) {
      const task = next();
      if (task === undefined) break;
      const promise: Promise<void> = run(task, add)
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => running.delete(promise));
      running.add(promise);
    }
    if (running.size === 0) break;
    await Promise.race(running);
  }
  if (failure) throw failure.error;
}
