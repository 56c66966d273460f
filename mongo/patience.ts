import { isUnclear } from './server-errors.ts';

/** How long work is repeated whose errors nobody can tell anything of. */
const maxUnclearMs = 300_000;

/** Errors that were waited out already, by work inside of other work. */
const waitedOut = new WeakSet<Error>();

/**
 * Says how long one piece of work is tried again after errors of a server that are unclear: they may pass, so the first does
 * not end a sync; they may not, so it does not go on for ever.
 */
export class Patience {
  readonly #now: () => number;
  #sinceMs: number | undefined;

  /** @param now - a clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** True where the work may be tried again after an error because that is unclear, and has not been for too long. */
  allows(error: unknown): error is Error {
    if (!isUnclear(error) || !(error instanceof Error) || waitedOut.has(error)) return false;
    this.#sinceMs ??= this.#now();
    if (this.#now() - this.#sinceMs < maxUnclearMs) return true;
    waitedOut.add(error);
    return false;
  }

  /** The work has succeeded, or fails for a reason that is known. */
  reset(): void {
    this.#sinceMs = undefined;
  }

  /** What a person is told while it is tried again. */
  get hint(): string {
    const leftMs = maxUnclearMs - (this.#now() - (this.#sinceMs ?? this.#now()));
    return `it is unknown whether the error is transient: the work ends in ${Math.ceil(leftMs / 1000)} s`;
  }
}
