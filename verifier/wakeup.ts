import { orAborted } from '../service/or-aborted.ts';

/** Lets any number of waiters know that something has happened. What happened before they waited is not kept. */
export class Wakeup {
  #next = Promise.withResolvers<undefined>();

  wake(): void {
    this.#next.resolve(undefined);
    this.#next = Promise.withResolvers();
  }

  /** Resolves at the next `wake`. Rejects with the signal's reason when it is aborted. */
  async next(signal: AbortSignal): Promise<void> {
    await orAborted(this.#next.promise, signal);
  }
}
