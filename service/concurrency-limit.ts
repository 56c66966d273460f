/** How many batches may be under way at the same time. */
export interface ConcurrencyRange {
  readonly min: number;
  readonly initial: number;
  readonly max: number;
}

/** The range that holds a single number. */
export function exactly(count: number): ConcurrencyRange {
  return { min: count, initial: count, max: count };
}

/** By what factor a probe changes the limit. */
const step = 1.5;

/** A higher limit is kept if it raises the throughput by more than this share: less is within the noise. */
const minGain = 0.05;

/** A lower limit is kept if it costs no more than this share of the throughput. */
const maxLoss = 0.03;

/** How long the throughput is measured at least: for so long, and until so many times the limit have ended. */
const minIntervalMs = 250;
const minRounds = 4;

type Phase =
  | { readonly kind: 'steady'; readonly next: 'up' | 'down' }
  | { readonly kind: 'up' | 'down'; readonly from: number; readonly rate: number };

/**
 * Finds how many batches a destination bears at the same time, by probing its throughput: the limit that yields the most, and
 * of several that yield the same, the lowest. Mongod sizes its own pool of execution tickets in this way since 7.0.
 *
 * Latency would not be enough: batches differ in size.
 */
export class ConcurrencyLimit {
  readonly #range: ConcurrencyRange;
  readonly #now: () => number;
  #current: number;
  #phase: Phase = { kind: 'steady', next: 'up' };
  /** Ended since the interval began; below 0 while those end that began under another limit. */
  #batches = 0;
  #amount = 0;
  #beganAtMs = 0;

  constructor(range: ConcurrencyRange, now: () => number = () => performance.now()) {
    this.#range = range;
    this.#now = now;
    this.#current = range.initial;
    this.#beginInterval();
  }

  /** How many batches may be under way now. */
  get current(): number {
    return this.#current;
  }

  /** To be called when fewer are under way for want of work: what is measured then says nothing of the limit. */
  hadRoom(): void {
    if (this.#phase.kind !== 'steady') this.#settle(this.#phase.from, 'up');
    else this.#beginInterval();
  }

  /** To be called for each batch that has ended. @param amount - how much it moved, in any unit: the throughput is counted in it. */
  completed(amount: number): void {
    this.#batches++;
    if (this.#batches === 0) this.#beganAtMs = this.#now();
    if (this.#batches <= 0) return;
    this.#amount += amount;
    const elapsedMs = this.#now() - this.#beganAtMs;
    if (this.#batches < minRounds * this.#current || elapsedMs < minIntervalMs) return;
    this.#decide(this.#amount / elapsedMs);
  }

  #decide(rate: number): void {
    const phase = this.#phase;
    const current = this.#current;
    switch (phase.kind) {
      case 'steady':
        this.#probe(phase.next, rate);
        break;
      case 'up':
        if (rate > phase.rate * (1 + minGain)) this.#probe('up', rate);
        else this.#settle(phase.from, 'down');
        break;
      case 'down':
        this.#settle(rate >= phase.rate * (1 - maxLoss) ? current : phase.from, 'up');
        break;
    }
  }

  #probe(kind: 'up' | 'down', rate: number): void {
    const from = this.#current;
    const { min, max } = this.#range;
    this.#current =
      kind === 'up'
        ? Math.min(max, Math.ceil(from * step))
        : Math.max(min, Math.floor(from / step));
    if (this.#current === from) {
      this.#settle(from, kind === 'up' ? 'down' : 'up');
      return;
    }
    this.#phase = { kind, from, rate };
    this.#beginInterval();
  }

  #settle(limit: number, next: 'up' | 'down'): void {
    this.#current = limit;
    this.#phase = { kind: 'steady', next };
    this.#beginInterval();
  }

  #beginInterval(): void {
    this.#batches = -this.#current;
    this.#amount = 0;
  }
}
