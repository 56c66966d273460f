import { systemClock, type Clock } from '../kube/clock.ts';
import { FairQueue } from '../kube/fair-queue.ts';
import { TokenBucket } from '../kube/token-bucket.ts';

/** Questions a second, for all namespaces together. */
const perSecond = 200;
/** How many may begin together after a pause. */
const burst = 10;
/** Questions under way: each may hold an answer of 256 KiB, and take as long as its deadline allows. */
const usual: QuestionLimits = { perNamespace: 200, underWay: 400 };

/** How many questions may be under way: of a namespace, and of all. */
export interface QuestionLimits {
  readonly perNamespace: number;
  readonly underWay: number;
}

/**
 * When questions to pods may begin: a limited number a second, and a limited number at the same time, shared fairly among namespaces.
 * Pods that do not answer, and many that do, delay those of their own namespace, not others.
 */
export class QuestionTurns {
  readonly #clock: Clock;
  readonly #queue: FairQueue;
  readonly #maxUnderWay: number;
  readonly #bucket: TokenBucket;
  /** Lets a waiting question begin, by its turn. */
  readonly #waiting = new Map<string, () => void>();
  #asked = 0;
  #underWay = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock = systemClock, { perNamespace, underWay } = usual) {
    this.#clock = clock;
    this.#queue = new FairQueue(perNamespace);
    this.#maxUnderWay = underWay;
    const nowMs = clock.monotonicMs();
    this.#bucket = new TokenBucket({ burst, refillMs: 1_000 / perSecond, nowMs });
  }

  /**
   * Asks when its turn has come. Rejects with the signal's reason if it is aborted before that, or as the question does.
   * @param key - of the object whose pod is queried: `namespace/name`.
   */
  async ask<T>(key: string, signal: AbortSignal, question: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const turn = `${key}/${this.#asked++}`;
    await this.#turn(turn, signal);
    try {
      return await question();
    } finally {
      this.#underWay -= 1;
      this.#queue.done(turn);
      this.#give();
    }
  }

  async #turn(turn: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const giveUp = (): void => {
      this.#waiting.delete(turn);
      this.#queue.delete(turn);
      this.#give();
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiting.set(turn, () => {
      signal.removeEventListener('abort', giveUp);
      resolve(undefined);
    });
    this.#queue.add(turn);
    this.#give();
    await promise;
  }

  #give(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    while (this.#queue.size > 0 && this.#underWay < this.#maxUnderWay) {
      const waitMs = this.#bucket.waitMs(this.#clock.monotonicMs());
      if (waitMs > 0) {
        this.#cancelTimer = this.#clock.schedule(waitMs, () => {
          this.#give();
        });
        return;
      }
      const turn = this.#queue.take();
      if (turn === undefined) return;
      this.#bucket.take(this.#clock.monotonicMs());
      this.#underWay += 1;
      this.#waiting.get(turn)?.();
      this.#waiting.delete(turn);
    }
  }
}
