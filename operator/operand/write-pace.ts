import type { Clock } from '../kube/clock.ts';

/** Figures of one object are not written more often than this. */
const shortestMs = 2_000;
/** All objects together may write once in this time; with a hundred and more, once for each hundred. */
const sharedMs = 1_100;
const sharing = 100;
/** An object whose figures have not moved for this time leaves its share to the others. */
const movingMs = 150_000;

/**
 * How often the figures of objects are written: the more of them move, the less often each, so that the API server has
 * less than one write a second, or than one for each hundred objects that move. They take turns: that holds from the first
 * second, also where all of them have just been written together.
 */
export class WritePace {
  readonly #clock: Clock;
  /** When the figures of a key were seen to move last, oldest first. */
  readonly #moving = new Map<string, number>();
  /** The numbers of those that wait, in the order in which they began to. */
  readonly #turns = new Map<string, number>();
  #lastTurn = 0;
  /** Whose turn it is, and all before it: grows with time. */
  #served = 1;
  #servedAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#servedAtMs = clock.monotonicMs();
  }

  /**
   * Notes that figures of a key have moved. How long they are to wait: 0 for not at all.
   * @param writtenMs - when any were written last; undefined for not since the start.
   */
  waitMs(key: string, writtenMs: number | undefined): number {
    const nowMs = this.#clock.monotonicMs();
    this.#note(key, nowMs);
    this.#serve(nowMs);
    const turnInMs = (this.#turnOf(key) - this.#served) * this.#turnMs();
    const ownMs = writtenMs === undefined ? 0 : writtenMs + shortestMs - nowMs;
    return Math.max(0, turnInMs, ownMs);
  }

  /** The object was written, for whatever reason: its next turn is a new one. */
  settle(key: string): void {
    this.#turns.delete(key);
  }

  /**
   * The object is as it was written: if its turn has come, that is over, and not saved up. One that is still to come is
   * kept: figures that go to and fro are to be written, too.
   */
  pass(key: string): void {
    this.#serve(this.#clock.monotonicMs());
    if ((this.#turns.get(key) ?? 0) <= this.#served) this.#turns.delete(key);
  }

  forget(key: string): void {
    this.#turns.delete(key);
    this.#moving.delete(key);
  }

  #turnOf(key: string): number {
    const turn = this.#turns.get(key) ?? this.#lastTurn + 1;
    this.#turns.set(key, turn);
    this.#lastTurn = Math.max(this.#lastTurn, turn);
    return turn;
  }

  /** The time from one turn to the next. Turns that were given up pass, too. */
  #turnMs(): number {
    const waiting = Math.max(this.#moving.size, this.#lastTurn - this.#served);
    return sharedMs / Math.max(1, waiting / sharing);
  }

  #serve(nowMs: number): void {
    const passed = (nowMs - this.#servedAtMs) / this.#turnMs();
    // Time in which nobody has waited is not saved up.
    this.#served = Math.min(this.#lastTurn + 1, this.#served + passed);
    this.#servedAtMs = nowMs;
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
