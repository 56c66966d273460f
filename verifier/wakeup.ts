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

/** Waits for a promise. Rejects with the signal's reason as soon as it is aborted. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => {
    aborted.reject(signal.reason as Error);
  };
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
