import { sleep } from '../../service/sleep.ts';

/** Limits how many bytes are read in a second, both sides together. */
export class RateLimit {
  readonly #bytesPerSecond: number | undefined;
  readonly #now: () => number;
  #freeAtMs = 0;

  /** @param bytesPerSecond - undefined for no limit. @param now - milliseconds of a clock that never goes back. */
  constructor(bytesPerSecond: number | undefined, now: () => number = () => performance.now()) {
    this.#bytesPerSecond = bytesPerSecond;
    this.#now = now;
  }

  /** How long to wait after so many bytes have been read, in milliseconds. */
  delayAfter(bytes: number): number {
    if (this.#bytesPerSecond === undefined) return 0;
    const now = this.#now();
    this.#freeAtMs = Math.max(now, this.#freeAtMs) + (bytes * 1000) / this.#bytesPerSecond;
    return this.#freeAtMs - now;
  }

  /** Takes note of bytes that have been read, and waits until more may be. */
  async after(bytes: number, signal: AbortSignal): Promise<void> {
    const delayMs = this.delayAfter(bytes);
    if (delayMs >= 1) await sleep(delayMs, signal);
  }
}
