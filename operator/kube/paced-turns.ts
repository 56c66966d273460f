import type { Clock } from './clock.ts';
import { FairQueue } from './fair-queue.ts';

/**
 * Turns that come at a pace, dealt out by namespace. Nobody is woken: a caller that wants a turn asks whether it has come, and when
 * to ask again. A turn that has come is kept until it is ended.
 */
export class PacedTurns {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #queue = new FairQueue();
  /** Turns that nobody has been given yet. */
  #saved: number;
  #atMs: number;

  /** @param burst - how many turns are saved while nobody wants one. */
  constructor(clock: Clock, burst: number) {
    this.#clock = clock;
    this.#burst = burst;
    this.#saved = burst;
    this.#atMs = clock.monotonicMs();
  }

  /** How many wait for their turn. */
  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Requests a turn for the object of a key (`namespace/name`), if it has none. Returns how long it takes at most: 0 if the turn has
   * come.
   * @param turnMs - the current time from one turn to the next.
   */
  waitMs(key: string, turnMs: number): number {
    this.#deal(turnMs);
    if (!this.#queue.isInHand(key)) this.#queue.add(key);
    this.#give();
    if (this.#queue.isInHand(key)) return 0;
    return Math.max(1, (this.#queue.turnsUntil(key) - this.#saved) * turnMs);
  }

  /** Whether the turn of a key has come. */
  hasCome(key: string, turnMs: number): boolean {
    this.#deal(turnMs);
    return this.#queue.isInHand(key);
  }

  /** The turn of a key was used, or is no longer wanted. */
  end(key: string): void {
    this.#queue.delete(key);
    this.#queue.done(key);
  }

  #deal(turnMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    this.#saved += (nowMs - this.#atMs) / turnMs;
    this.#atMs = nowMs;
    this.#give();
    // Of the time in which nobody waited, only a little is saved.
    this.#saved = Math.min(this.#saved, this.#burst);
  }

  #give(): void {
    while (this.#saved >= 1 && this.#queue.take() !== undefined) this.#saved -= 1;
  }
}
