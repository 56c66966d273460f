/** The period over which a rate is measured. */
const windowMs = 10_000;

/** The rate of something that grows, over the last ten seconds. */
export class RateMeter {
  #samples: { readonly atMs: number; readonly value: number }[] = [];

  /** @param atMs - by a monotonic clock. A count that has decreased starts over: of a process that was restarted, or of a copy that repeats a part. */
  add(value: number, atMs: number): void {
    const last = this.#samples.at(-1);
    if (last && value < last.value) this.#samples = [];
    this.#samples.push({ atMs, value });
    while (this.#samples.length > 2 && (this.#samples[1]?.atMs ?? atMs) <= atMs - windowMs)
      this.#samples.shift();
  }

  /** Null while there is not enough data. */
  get perSecond(): number | null {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (!first || !last || last.atMs === first.atMs) return null;
    return ((last.value - first.value) * 1000) / (last.atMs - first.atMs);
  }
}
