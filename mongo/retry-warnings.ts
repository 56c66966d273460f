/** Work that fails, though it may succeed later. */
export interface RetryWarning extends Disposable {
  /**
   * Called when it has failed once more.
   * @param isObstacle - whether a commit would wait for it; by default it would.
   */
  set(reason: string, isObstacle?: boolean): void;
  /** Called when it has succeeded; it may fail again. */
  clear(): void;
}

/** Shorter failures are not worth a warning: an election takes as long. */
const minWarnMs = 3_000;

/** The same limit for work that takes time anyway, though not this long. */
export const longWorkMs = 10_000;

/** The work that is being retried at the moment, or waits. */
export class RetryWarnings {
  readonly #now: () => number;
  readonly #current = new Map<
    symbol,
    { kind: string; sinceMs: number; minMs: number; reason: string; isObstacle: boolean }
  >();

  /** @param now - a clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Follows one piece of work. Its warning is removed when it is disposed of.
   * @param doing - what it does while it fails.
   * @param minMs - how long it may fail without a warning.
   */
  watch(work: string, doing = 'trying again', minMs = minWarnMs): RetryWarning {
    const key = Symbol(work);
    const kind = `${work}: ${doing}`;
    const clear = (): void => {
      this.#current.delete(key);
    };
    return {
      set: (reason, isObstacle = true) => {
        const sinceMs = this.#current.get(key)?.sinceMs ?? this.#now();
        this.#current.set(key, { kind, sinceMs, minMs, reason, isObstacle });
      },
      clear,
      [Symbol.dispose]: clear,
    };
  }

  /** A sentence for each kind of work that has not succeeded, or ended, for some seconds, with the latest reason. */
  warnings(): string[] {
    return this.#sentences(() => true);
  }

  /** Those of them that a commit would wait for. */
  obstacles(): string[] {
    return this.#sentences(({ isObstacle }) => isObstacle);
  }

  #sentences(isMeant: (work: { readonly isObstacle: boolean }) => boolean): string[] {
    const byKind = new Map<string, { sinceMs: number; minMs: number; reason: string }>();
    for (const work of this.#current.values()) {
      if (!isMeant(work)) continue;
      const { kind, sinceMs, minMs, reason } = work;
      const known = byKind.get(kind);
      byKind.set(kind, { sinceMs: Math.min(sinceMs, known?.sinceMs ?? sinceMs), minMs, reason });
    }
    return [...byKind]
      .filter(([, { sinceMs, minMs }]) => this.#now() - sinceMs >= minMs)
      .map(([kind, { sinceMs, reason }]) => {
        const seconds = Math.floor((this.#now() - sinceMs) / 1000);
        return `${kind} for ${seconds} s: ${reason}`;
      });
  }
}
