import { systemClock, type Clock } from './clock.ts';
import { DelayHeap } from './delay-heap.ts';
import { FairQueue } from './fair-queue.ts';
import type { KubeMetrics } from './metrics.ts';

/** What a work queue needs. */
export interface WorkQueueOptions {
  /** For metrics. */
  readonly name: string;
  readonly metrics: KubeMetrics;
  /** Delay of a key's first retry; each further one takes twice as long. 100 ms by default. */
  readonly baseDelayMs?: number;
  /** Longest delay of a retry. 5 minutes by default. */
  readonly maxDelayMs?: number;
  /** How many keys of a namespace are processed at the same time; as many as there are workers by default. */
  readonly maxPerNamespace?: number;
  readonly clock?: Clock;
}

/**
 * A queue of keys with the rules of client-go's work queue, dealt out by namespace (see {@link FairQueue}):
 * - a key that is already waiting is not added again;
 * - namespaces with work take turns; within one, urgent keys go before others, and otherwise keys are given out in the order in
 *   which they were added;
 * - no key is given out while it is being processed: if it is added meanwhile, it waits until `done`, once;
 * - retries of a key are delayed exponentially, until `forget`.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #metrics: KubeMetrics;
  readonly #labels: { readonly name: string; readonly controller: string };
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #keys: FairQueue;
  /** Keys that must be processed (again), with the time of the first add. */
  readonly #dirtySinceMs = new Map<string, number>();
  /** Keys that are being processed, with the time when that began. */
  readonly #processingSinceMs = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  readonly #delayed = new DelayHeap();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  #cancelTimer: () => void = () => undefined;
  #isShutDown = false;

  constructor({
    name,
    metrics,
    baseDelayMs = 100,
    maxDelayMs = 300_000,
    maxPerNamespace,
    clock = systemClock,
  }: WorkQueueOptions) {
    this.#keys = new FairQueue(maxPerNamespace);
    this.#clock = clock;
    this.#metrics = metrics;
    this.#labels = { name, controller: name };
    this.#baseDelayMs = baseDelayMs;
    this.#maxDelayMs = maxDelayMs;
    metrics.queueDepth.set(this.#labels, 0);
    metrics.queueAdds.inc(this.#labels, 0);
    metrics.queueRetries.inc(this.#labels, 0);
    metrics.watchQueue({ name, unfinishedSeconds: () => this.#unfinishedSeconds() });
  }

  /** How many keys are waiting and not being processed. */
  get length(): number {
    return this.#keys.size;
  }

  /** How many keys are being processed. */
  get processing(): number {
    return this.#processingSinceMs.size;
  }

  get isShutDown(): boolean {
    return this.#isShutDown;
  }

  /**
   * Requests that the key is processed from now on, even if it is being processed.
   * @param isUrgent - whether it goes before keys of its namespace that are not urgent. Also makes a waiting key urgent.
   */
  add(key: string, isUrgent = false): void {
    if (this.#isShutDown) return;
    this.#keys.add(key, isUrgent);
    if (this.#dirtySinceMs.has(key)) return;
    this.#dirtySinceMs.set(key, this.#clock.monotonicMs());
    this.#metrics.queueAdds.inc(this.#labels);
    this.#giveOut();
  }

  /** Adds the key after a delay. Of several delays of one key, the one that ends first wins. */
  addAfter(key: string, delayMs: number): void {
    if (this.#isShutDown) return;
    if (delayMs <= 0) {
      this.add(key);
      return;
    }
    this.#delayed.add(key, this.#clock.monotonicMs() + delayMs);
    this.#armTimer();
  }

  /** Adds the key after its back-off, which grows with each call until {@link forget}. Returns the delay. */
  addRateLimited(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    const delayMs = Math.min(this.#maxDelayMs, this.#baseDelayMs * 2 ** Math.min(failures, 40));
    if (this.#isShutDown) return delayMs;
    this.#failures.set(key, failures + 1);
    this.#metrics.queueRetries.inc(this.#labels);
    this.addAfter(key, delayMs);
    return delayMs;
  }

  /** Resets the back-off of the key: its next retry is a first one. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** How often the key was retried since it was last forgotten. */
  retries(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /**
   * The next key, which belongs to the caller until it calls {@link done}. Waits for one; undefined once the queue is shut
   * down and has none that may be given out.
   */
  async take(): Promise<string | undefined> {
    const key = this.#keys.take();
    if (key !== undefined) return this.#begin(key);
    if (this.#isShutDown) return undefined;
    return await new Promise((resolve) => this.#takers.push(resolve));
  }

  /** The key has been processed. If it was added meanwhile, it waits again. */
  done(key: string): void {
    const sinceMs = this.#processingSinceMs.get(key);
    if (sinceMs === undefined) return;
    this.#processingSinceMs.delete(key);
    const workMs = this.#clock.monotonicMs() - sinceMs;
    this.#metrics.queueWorkSeconds.observe(this.#labels, workMs / 1000);
    this.#keys.done(key);
    this.#giveOut();
  }

  /** Accepts no more keys and drops the delayed ones. Waiting keys are still given out. */
  shutDown(): void {
    if (this.#isShutDown) return;
    this.#isShutDown = true;
    this.#delayed.clear();
    this.#cancelTimer();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  /** Gives keys to the waiting callers. */
  #giveOut(): void {
    while (this.#takers.length > 0) {
      const key = this.#keys.take();
      if (key === undefined) break;
      this.#takers.shift()?.(this.#begin(key));
    }
    this.#metrics.queueDepth.set(this.#labels, this.length);
  }

  #begin(key: string): string {
    const nowMs = this.#clock.monotonicMs();
    const dirtySinceMs = this.#dirtySinceMs.get(key) ?? nowMs;
    this.#dirtySinceMs.delete(key);
    this.#processingSinceMs.set(key, nowMs);
    this.#metrics.queueDepth.set(this.#labels, this.length);
    this.#metrics.queueSeconds.observe(this.#labels, (nowMs - dirtySinceMs) / 1000);
    return key;
  }

  #armTimer(): void {
    this.#cancelTimer();
    const dueMs = this.#delayed.nextDueMs;
    if (dueMs === undefined) return;
    this.#cancelTimer = this.#clock.schedule(dueMs - this.#clock.monotonicMs(), () => {
      const nowMs = this.#clock.monotonicMs();
      let key: string | undefined;
      while ((key = this.#delayed.takeDue(nowMs)) !== undefined) this.add(key);
      this.#armTimer();
    });
  }

  #unfinishedSeconds(): { sum: number; longest: number } {
    const nowMs = this.#clock.monotonicMs();
    let sum = 0;
    let longest = 0;
    for (const sinceMs of this.#processingSinceMs.values()) {
      const seconds = (nowMs - sinceMs) / 1000;
      sum += seconds;
      longest = Math.max(longest, seconds);
    }
    return { sum, longest };
  }
}
