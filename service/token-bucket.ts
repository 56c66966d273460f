/** What a bucket measures time by. */
export interface BucketClock {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Runs something once after a time. Returns what prevents that. */
  readonly after: (ms: number, run: () => void) => () => void;
}

/** The longest that a timer of Node.js waits: it takes a longer time for 1 ms. */
const maxTimerMs = 2 ** 31 - 1;

const systemClock: BucketClock = {
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, Math.min(ms, maxTimerMs));
    return () => {
      clearTimeout(timer);
    };
  },
};

interface Waiting {
  readonly amount: number;
  readonly go: () => void;
}

/**
 * Lets amounts pass at a rate. While the rate stays, what passes in any time `t` is at most `rate * t` plus a burst, and plus what
 * was saved up before for an amount larger than the burst. Who waits is served in turn.
 */
export class TokenBucket {
  readonly #burstSeconds: number;
  readonly #clock: BucketClock;
  /** A second; undefined for no limit, 0 if nothing may pass. */
  #rate: number | undefined;
  #saved = 0;
  #savedAtMs: number;
  readonly #waiting: Waiting[] = [];
  #stopTimer: (() => void) | undefined;

  /**
   * @param burstSeconds - an idle bucket saves what passes in this time, which may then pass without delay.
   * @param rate - a second; undefined for no limit.
   */
  constructor(burstSeconds: number, rate?: number, clock: BucketClock = systemClock) {
    this.#burstSeconds = burstSeconds;
    this.#rate = rate;
    this.#clock = clock;
    this.#savedAtMs = clock.now();
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Changes the rate, also for those who wait. @param rate - a second; undefined for no limit, 0 if nothing may pass. */
  setRate(rate: number | undefined): void {
    if (rate === this.#rate) return;
    this.#save();
    this.#rate = rate;
    // Nothing was saved up without a limit, and no more than a burst of the new rate counts.
    this.#saved = Math.min(this.#saved, this.#burst);
    this.#serve();
  }

  /** Waits until an amount may pass. Rejects with the signal's reason as soon as it is aborted. */
  async take(amount: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const waiting = {
      amount,
      go: () => {
        resolve(undefined);
      },
    };
    const leave = (): void => {
      const at = this.#waiting.indexOf(waiting);
      if (at === -1) return;
      this.#waiting.splice(at, 1);
      reject(signal.reason);
      this.#serve();
    };
    this.#save();
    this.#waiting.push(waiting);
    this.#serve();
    signal.addEventListener('abort', leave, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  get #burst(): number {
    return (this.#rate ?? 0) * this.#burstSeconds;
  }

  /** Adds what has come since the last call: up to a burst, or what the first of those who wait needs. */
  #save(): void {
    const now = this.#clock.now();
    const most = Math.max(this.#burst, this.#waiting[0]?.amount ?? 0);
    const come = ((this.#rate ?? 0) * (now - this.#savedAtMs)) / 1000;
    this.#saved = Math.min(Math.max(most, this.#saved), this.#saved + come);
    this.#savedAtMs = now;
  }

  #serve(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    for (;;) {
      const [first] = this.#waiting;
      if (!first) return;
      this.#save();
      if (this.#rate !== undefined && (this.#rate === 0 || this.#saved < first.amount)) {
        if (this.#rate === 0) return;
        const waitMs = Math.ceil(((first.amount - this.#saved) * 1000) / this.#rate);
        this.#stopTimer = this.#clock.after(waitMs, () => {
          this.#serve();
        });
        return;
      }
      if (this.#rate !== undefined) this.#saved -= first.amount;
      this.#waiting.shift();
      first.go();
    }
  }
}
