import { isUnclear } from './server-errors.ts';

/** How long to retry work whose errors are unclear. */
const maxUnclearMs = 300_000;

/** Errors that were already waited out, by nested work. */
const waitedOut = new WeakSet<Error>();

/**
 * Says how long one piece of work is retried after unclear errors of a server: they may pass, so the first does not end a sync;
 * they may not, so the retries end.
 */
export class Patience {
  readonly #now: () => number;
  #sinceMs: number | undefined;

  /** @param now - a clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** True if the work may be retried after an error because that is unclear, and has not been for too long. */
  allows(error: unknown): error is Error {
    if (!isUnclear(error) || !(error instanceof Error) || waitedOut.has(error)) return false;
    this.#sinceMs ??= this.#now();
    if (this.#now() - this.#sinceMs < maxUnclearMs) return true;
    waitedOut.add(error);
    return false;
  }

  /** To be called when the work has succeeded, or fails for a known reason. */
  reset(): void {
    this.#sinceMs = undefined;
  }

  /** What to tell a person while it is retried. */
  get hint(): string {
    const leftMs = maxUnclearMs - (this.#now() - (this.#sinceMs ?? this.#now()));
    return `it is unknown whether the error is transient: the work ends in ${Math.ceil(leftMs / 1000)} s`;
  }
}
