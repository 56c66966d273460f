/** Limits a rate: a burst without delay, then one token in each refill time. */
export class TokenBucket {
  readonly #burst: number;
  readonly #refillMs: number;
  #tokens: number;
  #atMs: number;

  constructor({
    burst,
    refillMs,
    nowMs,
  }: {
    readonly burst: number;
    readonly refillMs: number;
    readonly nowMs: number;
  }) {
    this.#burst = burst;
    this.#refillMs = refillMs;
    this.#tokens = burst;
    this.#atMs = nowMs;
  }

  /** Takes a token, if there is one. */
  take(nowMs: number): boolean {
    this.#refill(nowMs);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Time until there is a token, in milliseconds; 0 if there is one. */
  waitMs(nowMs: number): number {
    this.#refill(nowMs);
    return Math.max(0, 1 - this.#tokens) * this.#refillMs;
  }

  /** Whether every token has been refilled: such a bucket can be forgotten. */
  isFull(nowMs: number): boolean {
    this.#refill(nowMs);
    return this.#tokens >= this.#burst;
  }

  #refill(nowMs: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#atMs) / this.#refillMs);
    this.#atMs = nowMs;
  }
}
