import { systemClock, type Clock } from './clock.ts';
import { DelayHeap } from './delay-heap.ts';
import type { KubeMetrics } from './metrics.ts';

/** What a work queue needs. */
export interface WorkQueueOptions {
  /** Of the metrics. */
  readonly name: string;
  readonly metrics: KubeMetrics;
  /** Delay of a key's first retry; each further one is twice as long. 100 ms by default. */
  readonly baseDelayMs?: number;
  /** Longest delay of a retry. 5 minutes by default. */
  readonly maxDelayMs?: number;
  readonly clock?: Clock;
}

interface Entry {
  readonly sinceMs: number;
  readonly isUrgent: boolean;
}

/**
 * A queue of keys with the rules of client-go's work queue:
 * - a key that waits already is not added again;
 * - what is urgent goes before what is not; otherwise keys are given out in the order in which they were added;
 * - no key is given out while it is being processed: one that is added meanwhile waits until `done`, once;
 * - retries of a key are delayed exponentially, until `forget`.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #metrics: KubeMetrics;
  readonly #labels: { readonly name: string; readonly controller: string };
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  /** Keys that wait, in order; all of them are dirty. */
  readonly #waiting = new Map<string, Entry>();
  /** The same, of those that are urgent. */
  readonly #urgent = new Map<string, Entry>();
  /** Keys that must be processed (again), with the time of the first add. */
  readonly #dirty = new Map<string, Entry>();
  /** Keys that are being processed, with the time when that began. */
  readonly #processing = new Map<string, { readonly sinceMs: number }>();
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
    clock = systemClock,
  }: WorkQueueOptions) {
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

  /** How many keys wait to be given out now. */
  get length(): number {
    return this.#urgent.size + this.#waiting.size;
  }

  /** How many keys are being processed. */
  get processing(): number {
    return this.#processing.size;
  }

  get isShutDown(): boolean {
    return this.#isShutDown;
  }

  /**
   * Wants the key processed, from now on: also when it is just being processed.
   * @param isUrgent - whether it goes before those that are not. One that waits already becomes so.
   */
  add(key: string, isUrgent = false): void {
    if (this.#isShutDown) return;
    const former = this.#dirty.get(key);
    if (former) {
      if (isUrgent && !former.isUrgent) this.#hurry(key, { ...former, isUrgent });
      return;
    }
    const entry = { sinceMs: this.#clock.monotonicMs(), isUrgent };
    this.#dirty.set(key, entry);
    this.#metrics.queueAdds.inc(this.#labels);
    if (!this.#processing.has(key)) this.#enqueue(key, entry);
  }

  /** Adds the key after a delay. Of several delays of one key, the one that ends first counts. */
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

  /** Ends the back-off of the key: its next retry is a first one. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** How often the key was retried since it was last forgotten. */
  retries(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /**
   * The next key, which is the caller's until it calls {@link done}. Waits for one; undefined once the queue is shut
   * down and empty.
   */
  async take(): Promise<string | undefined> {
    for (const waiting of [this.#urgent, this.#waiting]) {
      const next = waiting.entries().next();
      if (next.done) continue;
      const [key, entry] = next.value;
      waiting.delete(key);
      return this.#begin(key, entry.sinceMs);
    }
    if (this.#isShutDown) return undefined;
    return await new Promise((resolve) => this.#takers.push(resolve));
  }

  /** The key has been processed. If it was added meanwhile, it waits again. */
  done(key: string): void {
    const entry = this.#processing.get(key);
    if (!entry) return;
    this.#processing.delete(key);
    const workMs = this.#clock.monotonicMs() - entry.sinceMs;
    this.#metrics.queueWorkSeconds.observe(this.#labels, workMs / 1000);
    const again = this.#dirty.get(key);
    if (again) this.#enqueue(key, again);
  }

  /** Takes no more keys and drops the delayed ones. Those that wait are still given out. */
  shutDown(): void {
    if (this.#isShutDown) return;
    this.#isShutDown = true;
    this.#delayed.clear();
    this.#cancelTimer();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #hurry(key: string, entry: Entry): void {
    this.#dirty.set(key, entry);
    if (this.#waiting.delete(key)) this.#urgent.set(key, entry);
  }

  #enqueue(key: string, entry: Entry): void {
    const taker = this.#takers.shift();
    if (taker) {
      taker(this.#begin(key, entry.sinceMs));
      return;
    }
    (entry.isUrgent ? this.#urgent : this.#waiting).set(key, entry);
    this.#metrics.queueDepth.set(this.#labels, this.length);
  }

  #begin(key: string, waitingSinceMs: number): string {
    const nowMs = this.#clock.monotonicMs();
    this.#dirty.delete(key);
    this.#processing.set(key, { sinceMs: nowMs });
    this.#metrics.queueDepth.set(this.#labels, this.length);
    this.#metrics.queueSeconds.observe(this.#labels, (nowMs - waitingSinceMs) / 1000);
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
    for (const { sinceMs } of this.#processing.values()) {
      const seconds = (nowMs - sinceMs) / 1000;
      sum += seconds;
      longest = Math.max(longest, seconds);
    }
    return { sum, longest };
  }
}
