const minuteMs = 60_000;
const binMs = 1_000;

/** How long something was held back, by one or several at the same time: in total, and of the last minute. */
export class HeldTime {
  readonly #now: () => number;
  #held = 0;
  #sinceMs = 0;
  #totalMs = 0;
  /** Of the last minute, by the second in which it was. */
  readonly #bins = new Map<number, number>();

  /** @param now - milliseconds of a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** True while something is held back. */
  get isHeld(): boolean {
    return this.#held > 0;
  }

  /** In total, in milliseconds. */
  get totalMs(): number {
    this.#settle();
    return this.#totalMs;
  }

  /** From 0 to 1. */
  get shareOfLastMinute(): number {
    this.#settle();
    const sum = [...this.#bins.values()].reduce((all, ms) => all + ms, 0);
    return Math.min(1, sum / minuteMs);
  }

  /** Counts the time that something waits. */
  async during(wait: () => Promise<void>): Promise<void> {
    this.#settle();
    this.#held++;
    try {
      await wait();
    } finally {
      this.#settle();
      this.#held--;
    }
  }

  /** Counts everything up to now. */
  #settle(): void {
    const now = this.#now();
    if (this.#held > 0) {
      this.#totalMs += now - this.#sinceMs;
      let from = Math.max(this.#sinceMs, now - minuteMs);
      while (from < now) {
        const bin = Math.floor(from / binMs);
        const to = Math.min(now, (bin + 1) * binMs);
        this.#bins.set(bin, (this.#bins.get(bin) ?? 0) + to - from);
        from = to;
      }
    }
    this.#sinceMs = now;
    const oldest = Math.floor((now - minuteMs) / binMs);
    for (const bin of this.#bins.keys()) if (bin < oldest) this.#bins.delete(bin);
  }
}
