import { messageOf } from '../service/errors.ts';
import { isUnclear } from './server-errors.ts';

/** How long to retry work whose errors are unclear. */
const maxUnclearMs = 300_000;

/**
 * How much of the time between two errors counts at most: an attempt that took longer has got further, and the next error may
 * be another one.
 */
const maxCountedMs = 60_000;

/** Errors that were already waited out, by nested work. */
const waitedOut = new WeakSet<Error>();

/**
 * Says how long one piece of work is retried after unclear errors of a server: they may pass, so the first does not end a sync;
 * they may not, so the retries end.
 */
export class Patience {
  readonly #now: () => number;
  /** When the last error came; undefined if there was none. */
  #lastMs: number | undefined;
  /** The counted part of the time from the first error to the last. */
  #countedMs = 0;

  /** @param now - a clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** True if the work may be retried after an error because that is unclear, and has not been for too long. */
  allows(error: unknown): error is Error {
    if (!isUnclear(error) || !(error instanceof Error) || waitedOut.has(error)) return false;
    const nowMs = this.#now();
    this.#countedMs += Math.min(nowMs - (this.#lastMs ?? nowMs), maxCountedMs);
    this.#lastMs = nowMs;
    if (this.#countedMs < maxUnclearMs) return true;
    waitedOut.add(error);
    return false;
  }

  /**
   * Takes note of an error. @param isKnown - whether it passes, however often it comes.
   * @returns what to tell a person while the work is retried; undefined if it must not be.
   */
  reasonToRetry(error: unknown, isKnown: boolean): string | undefined {
    if (isKnown) {
      this.reset();
      return messageOf(error);
    }
    return this.allows(error) ? `${messageOf(error)} (${this.hint})` : undefined;
  }

  /** To be called when the work has succeeded, or fails for a known reason. */
  reset(): void {
    this.#lastMs = undefined;
    this.#countedMs = 0;
  }

  /** What to tell a person while it is retried. */
  get hint(): string {
    const leftSeconds = Math.ceil((maxUnclearMs - this.#countedMs) / 1000);
    return `it is unknown whether the error is transient: if it lasts, the work ends in ${leftSeconds} s or later`;
  }
}
