import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../clock.ts';

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/** A clock for tests: time stops until the test advances it. */
export class FakeClock implements Clock {
  #nowMs: number;
  #order = 0;
  readonly #startMs: number;
  readonly #timers = new Set<Timer>();

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#startMs = startMs;
    this.#nowMs = startMs;
  }

  wallMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs - this.#startMs;
  }

  schedule(delayMs: number, callback: () => void): () => void {
    const timer = { dueMs: this.#nowMs + Math.max(delayMs, 0), order: this.#order++, callback };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** How many timers are pending: what has ended must leave none behind. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Time from now until the next timer is due. */
  get nextTimerInMs(): number | undefined {
    const next = this.#next();
    return next && next.dueMs - this.#nowMs;
  }

  /** Lets time pass, timer by timer; promises get their turn after each. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await nextTurn();
    for (let timer = this.#next(); timer && timer.dueMs <= endMs; timer = this.#next()) {
      this.#timers.delete(timer);
      this.#nowMs = timer.dueMs;
      timer.callback();
      await nextTurn();
    }
    this.#nowMs = endMs;
    await nextTurn();
  }

  #next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (
        !first ||
        timer.dueMs < first.dueMs ||
        (timer.dueMs === first.dueMs && timer.order < first.order)
      ) {
        first = timer;
      }
    }
    return first;
  }
}
