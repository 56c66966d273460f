import { createHash } from 'node:crypto';
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
 * less than one write a second, or than one for each hundred objects that move.
 */
export class WritePace {
  readonly #clock: Clock;
  readonly #startMs: number;
  /** When the figures of a key were seen to move last, oldest first. */
  readonly #moving = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
  }

  /**
   * Notes that figures of a key have moved. How long they are to wait: 0 for not at all.
   * @param writtenMs - when any were written last; undefined for not since the start.
   */
  waitMs(key: string, writtenMs: number | undefined): number {
    const nowMs = this.#clock.monotonicMs();
    this.#note(key, nowMs);
    const intervalMs = Math.max(shortestMs, sharedMs * Math.min(this.#moving.size, sharing));
    const sinceMs = writtenMs ?? this.#startMs;
    // What was written together is not so the next time; a few objects have no reason to wait for each other.
    const share = spreadOf(key, sinceMs) + (writtenMs === undefined ? 0 : 0.5);
    const ownMs = intervalMs === shortestMs ? shortestMs : Math.max(shortestMs, intervalMs * share);
    return Math.max(0, ownMs - (nowMs - sinceMs));
  }

  forget(key: string): void {
    this.#moving.delete(key);
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

/** Between 0 and 1: any, but the same for the same writing. */
function spreadOf(key: string, sinceMs: number): number {
  const hash = createHash('sha1').update(`${key} ${sinceMs}`).digest();
  return hash.readUInt32BE() / 2 ** 32;
}
