import { sleep } from '../service/sleep.ts';
import { orAborted } from '../service/or-aborted.ts';

/** Notifies any number of waiters that something has happened. */
export class Wakeup {
  /** One for each waiter: what hangs on one promise stays until that is settled, and nobody may wake a quiet process for days. */
  readonly #waiting = new Set<() => void>();
  #count = 0;

  /** The number of wakes so far: pass it to `since`; read it before checking what may have changed. */
  get count(): number {
    return this.#count;
  }

  /** How many wait now. */
  get waiting(): number {
    return this.#waiting.size;
  }

  wake(): void {
    this.#count += 1;
    for (const wakeUp of this.#waiting) wakeUp();
  }

  /** Resolves at the next `wake`. Rejects with the signal's reason when it is aborted. */
  async next(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const wakeUp = (): void => {
      resolve(undefined);
    };
    this.#waiting.add(wakeUp);
    try {
      await orAborted(promise, signal);
    } finally {
      this.#waiting.delete(wakeUp);
    }
  }

  /** Resolves once `wake` has been called since a count was read, or `ms` milliseconds have passed. */
  async since(count: number, ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (count !== this.#count) return;
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    const waits = [this.next(either), sleep(ms, either)];
    await Promise.race(waits.map(async (wait) => await wait.catch(() => undefined)));
    over.abort();
    signal.throwIfAborted();
  }
}
