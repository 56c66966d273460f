/** Time as the runtime uses it; tests provide their own. */
export interface Clock {
  /** Milliseconds since 1970: for times that others read. */
  wallMs(): number;
  /** Monotonic milliseconds from an arbitrary zero: for durations. */
  monotonicMs(): number;
  /** Calls back once after the delay. Returns a function that cancels it; cancelling twice, or too late, does nothing. */
  schedule(delayMs: number, callback: () => void): () => void;
}

/** A longer delay makes setTimeout fire immediately. */
const maxTimeoutMs = 2 ** 31 - 1;

/** The clock of the machine. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  schedule: (delayMs, callback) => {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), maxTimeoutMs));
    return () => {
      clearTimeout(timer);
    };
  },
};

/** Waits on a clock. Rejects with the signal's reason as soon as it is aborted. */
export async function sleepOn(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const cancel = clock.schedule(ms, () => {
    resolve(undefined);
  });
  const onAbort = (): void => {
    reject(signal.reason as Error);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await promise;
  } finally {
    cancel();
    signal.removeEventListener('abort', onAbort);
  }
}
