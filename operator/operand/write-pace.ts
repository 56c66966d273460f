import type { Clock } from '../kube/clock.ts';
import { PacedTurns } from '../kube/paced-turns.ts';

/** Figures of one object are not written more often than this. */
const shortestMs = 2_000;
/** All objects together may write once in this time; with more than a hundred, once per hundred. */
const sharedMs = 1_100;
const sharing = 100;
/** An object whose figures have not changed for this time leaves its share to the others. */
const movingMs = 150_000;

/**
 * How often the figures of objects are written: the more objects change, the less often each is written, so that the API server
 * gets less than one write a second, or less than one per hundred changing objects. Namespaces take turns, and so do the objects
 * of each, from the first second on, even if all of them have just been written together.
 */
export class WritePace {
  readonly #clock: Clock;
  /** When the figures of a key were last seen to change, oldest first. */
  readonly #moving = new Map<string, number>();
  readonly #turns: PacedTurns;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turns = new PacedTurns(clock, 1);
  }

  /**
   * Notes that figures of a key have changed. Returns how long to wait before they are written: 0 for not at all.
   * @param writtenMs - when any were written last; undefined if not since the start.
   */
  waitMs(key: string, writtenMs: number | undefined): number {
    const nowMs = this.#clock.monotonicMs();
    this.#note(key, nowMs);
    const ownMs = writtenMs === undefined ? 0 : writtenMs + shortestMs - nowMs;
    return Math.max(this.#turns.waitMs(key, this.#turnMs()), ownMs);
  }

  /** The object was written, for any reason: its next turn is a new one. */
  settle(key: string): void {
    this.#turns.end(key);
  }

  /**
   * The object is as it was written: if its turn has come, it is used up, and not saved. A turn that is still to come is
   * kept: figures that oscillate must be written, too.
   */
  pass(key: string): void {
    if (this.#turns.hasCome(key, this.#turnMs())) this.#turns.end(key);
  }

  forget(key: string): void {
    this.#turns.end(key);
    this.#moving.delete(key);
  }

  /** The time from one turn to the next. */
  #turnMs(): number {
    const waiting = Math.max(this.#moving.size, this.#turns.waiting);
    return sharedMs / Math.max(1, waiting / sharing);
  }

  #note(key: string, nowMs: number): void {
    this.#moving.delete(key);
    this.#moving.set(key, nowMs);
    for (const [each, atMs] of this.#moving) {
      if (nowMs - atMs < movingMs) return;
      this.#moving.delete(each);
    }
  }
}
