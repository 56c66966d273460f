import type { Clock } from '../kube/clock.ts';
import { PacedTurns } from '../kube/paced-turns.ts';

/** Figures of one object are not written more often than this. */
const shortestMs = 2_000;
/** All objects together may write once in this time; with a hundred and more, once for each hundred. */
const sharedMs = 1_100;
const sharing = 100;
/** An object whose figures have not moved for this time leaves its share to the others. */
const movingMs = 150_000;

/**
 * How often the figures of objects are written: the more of them move, the less often each, so that the API server has
 * less than one write a second, or than one for each hundred objects that move. Namespaces take turns, and so do the objects
 * of each: that holds from the first second, also where all of them have just been written together.
 */
export class WritePace {
  readonly #clock: Clock;
  /** When the figures of a key were seen to move last, oldest first. */
  readonly #moving = new Map<string, number>();
  readonly #turns: PacedTurns;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turns = new PacedTurns(clock, 1);
  }

  /**
   * Notes that figures of a key have moved. How long they are to wait: 0 for not at all.
   * @param writtenMs - when any were written last; undefined for not since the start.
   */
  waitMs(key: string, writtenMs: number | undefined): number {
    const nowMs = this.#clock.monotonicMs();
    this.#note(key, nowMs);
    const ownMs = writtenMs === undefined ? 0 : writtenMs + shortestMs - nowMs;
    return Math.max(this.#turns.waitMs(key, this.#turnMs()), ownMs);
  }

  /** The object was written, for whatever reason: its next turn is a new one. */
  settle(key: string): void {
    this.#turns.end(key);
  }

  /**
   * The object is as it was written: if its turn has come, that is over, and not saved up. One that is still to come is
   * kept: figures that go to and fro are to be written, too.
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
