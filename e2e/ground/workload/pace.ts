import { sleep } from '../../../service/sleep.ts';
import { SeededRandom } from './seeded-random.ts';

/**
 * From the beginning of an operation to the beginning of the next one, on the average. What a random workload finds, it
 * finds by the moments at which operations meet each other and the syncer, not by how many there are. Without a pace, a run
 * on a fast machine takes more CPU time for more of the same: an operation costs 30 ms and more on the members and shards of
 * both sides together. On a machine that is busy writers are slower than this anyway.
 */
const operationGapMs = 50;

/** The times at which a writer begins its operations: some at once one after the other, and not too many in all. */
export class Pace {
  readonly #random: SeededRandom;
  readonly #meanGapMs: number;
  #begunAtMs = -Infinity;

  constructor(seed: number, meanGapMs = operationGapMs) {
    this.#random = new SeededRandom(seed);
    this.#meanGapMs = meanGapMs;
  }

  /** Waits until the next operation begins, and says whether there is to be one: not when the signal is aborted. */
  async next(signal: AbortSignal): Promise<boolean> {
    const gapMs = this.#random.next() * 2 * this.#meanGapMs;
    const leftMs = this.#begunAtMs + gapMs - performance.now();
    if (leftMs > 0) await sleep(leftMs, signal).catch(() => undefined);
    this.#begunAtMs = performance.now();
    return !signal.aborted;
  }
}
