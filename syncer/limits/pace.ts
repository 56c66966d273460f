import { HeldTime } from '../../service/held-time.ts';
import { type BucketClock, TokenBucket } from '../../service/token-bucket.ts';
import type { Limits, SyncProgress } from '../../sync-api/json.ts';
import {
  allowedRates,
  type Allowance,
  type LimitSituation,
  type RateName,
} from './allowed-rates.ts';

/** What passes at once after a time without any work, and how much work is taken on at a time: that of one second. */
const burstSeconds = 1;

/** What is held back: the copy of documents, or changes. */
export type PacedKind = 'copy' | 'changes';

/** What the pace depends on, besides what has passed. */
export type PaceSituation = Omit<LimitSituation, 'copyLeft'> & {
  /** What the copy of this instance is expected to have in total; null while unknown. */
  readonly copyBytes: number | null;
  readonly copiedBytes: number;
};

/** Documents that are about to be written. */
export interface PacedDocuments {
  readonly count: number;
  readonly bytes: number;
}

/** How fast this process may work on its sync: by what was requested, and by what is so now. */
export class Pace {
  readonly #situation: () => PaceSituation;
  readonly #buckets: Readonly<Record<RateName, TokenBucket>>;
  readonly #held: Readonly<Record<PacedKind, HeldTime>>;
  #allowance: Allowance;
  /** What has passed in the copy. */
  #documents = 0;
  #bytes = 0;

  /** @param situation - as it is now. */
  constructor(situation: () => PaceSituation, clock?: BucketClock) {
    this.#situation = situation;
    const bucket = (): TokenBucket => new TokenBucket(burstSeconds, undefined, clock);
    this.#buckets = {
      maxCopyBytesPerSecond: bucket(),
      maxCopyDocumentsPerSecond: bucket(),
      maxChangesPerSecond: bucket(),
    };
    this.#held = { copy: new HeldTime(clock?.now), changes: new HeldTime(clock?.now) };
    this.#allowance = allowedRates({ ...situation(), copyLeft: null });
    this.update();
  }

  /** What people have to know about the limits now. */
  get warnings(): readonly string[] {
    return this.#allowance.warnings;
  }

  /** True while a limit holds changes back: they are not applied soon. */
  get isHoldingChanges(): boolean {
    return this.#held.changes.isHeld;
  }

  /** Seconds for which something was held back by this process, in total. */
  heldSeconds(kind: PacedKind): number {
    return this.#held[kind].totalMs / 1000;
  }

  /** The rate that is allowed now: undefined for no limit. */
  rate(name: RateName): number | undefined {
    const { copyBytesPerSecond, copyDocumentsPerSecond, changesPerSecond } = this.#allowance.rates;
    switch (name) {
      case 'maxCopyBytesPerSecond':
        return copyBytesPerSecond;
      case 'maxCopyDocumentsPerSecond':
        return copyDocumentsPerSecond;
      case 'maxChangesPerSecond':
        return changesPerSecond;
    }
  }

  /** How many batches may be under way at most; infinite without a limit. */
  get concurrentBatches(): number {
    return this.#allowance.rates.concurrentBatches ?? Infinity;
  }

  /** Takes up what has changed, also for what waits. */
  update(): void {
    const { copyBytes, copiedBytes, ...situation } = this.#situation();
    const bytes = Math.max(0, (copyBytes ?? 0) - copiedBytes);
    const documents = this.#documents === 0 ? null : (bytes * this.#documents) / this.#bytes;
    const copyLeft = copyBytes === null ? null : { bytes, documents };
    this.#allowance = allowedRates({ ...situation, copyLeft });
    for (const name of rateNames) this.#buckets[name].setRate(this.rate(name));
  }

  /** How much to take on at a time, so that nothing waits for much longer than a burst: at least 1; infinite without a limit. */
  atATime(name: RateName): number {
    return Math.max(1, Math.floor((this.rate(name) ?? Infinity) * burstSeconds));
  }

  /** Waits until documents may be copied. */
  async copy({ count, bytes }: PacedDocuments, signal: AbortSignal): Promise<void> {
    await this.#held.copy.during(async () => {
      await this.#buckets.maxCopyDocumentsPerSecond.take(count, signal);
      await this.#buckets.maxCopyBytesPerSecond.take(bytes, signal);
    });
    this.#documents += count;
    this.#bytes += bytes;
  }

  /** Waits until changes may be applied. */
  async apply(changes: number, signal: AbortSignal): Promise<void> {
    await this.#held.changes.during(async () => {
      await this.#buckets.maxChangesPerSecond.take(changes, signal);
    });
  }

  /** The same, for work that a signal ends. */
  within(signal: AbortSignal): WorkPace {
    return new WorkPace(this, signal);
  }

  /** What progress says of it. @param requested - the limits, as they were requested. */
  report(requested: Limits): NonNullable<SyncProgress['limits']> {
    // While nothing works on the sync, nothing else does.
    this.update();
    const { rates } = this.#allowance;
    const waiting = rateNames.filter((name) => this.#buckets[name].waiting > 0);
    const { copy, changes } = this.#held;
    const whole = (rate: number | undefined): number | null =>
      rate === undefined ? null : rate < 1 ? Math.ceil(rate) : Math.floor(rate);
    const shareOf = (held: HeldTime): number => Math.round(held.shareOfLastMinute * 100) / 100;
    return {
      requested,
      allowed: {
        copyBytesPerSecond: whole(rates.copyBytesPerSecond),
        copyDocumentsPerSecond: whole(rates.copyDocumentsPerSecond),
        changesPerSecond: whole(rates.changesPerSecond),
        concurrentBatches: rates.concurrentBatches ?? null,
      },
      heldBackBy: waiting,
      secondsHeldBack: {
        copy: Math.round(copy.totalMs / 1000),
        changes: Math.round(changes.totalMs / 1000),
      },
      shareOfLastMinute: { copy: shareOf(copy), changes: shareOf(changes) },
    };
  }
}

const rateNames = [
  'maxCopyBytesPerSecond',
  'maxCopyDocumentsPerSecond',
  'maxChangesPerSecond',
] as const satisfies RateName[];

/** The pace of one piece of work: what waits, waits until its signal is aborted. */
export class WorkPace {
  readonly #pace: Pace;
  readonly #signal: AbortSignal;

  constructor(pace: Pace, signal: AbortSignal) {
    this.#pace = pace;
    this.#signal = signal;
  }

  /** The same, for work that a narrower signal ends. */
  within(signal: AbortSignal): WorkPace {
    return new WorkPace(this.#pace, signal);
  }

  /** See {@link Pace.concurrentBatches}. */
  get concurrentBatches(): number {
    return this.#pace.concurrentBatches;
  }

  /** See {@link Pace.heldSeconds}. */
  heldSeconds(kind: PacedKind): number {
    return this.#pace.heldSeconds(kind);
  }

  /** How many documents, and how many bytes of them, to read at a time. */
  get fetch(): PacedDocuments {
    return {
      count: this.#pace.atATime('maxCopyDocumentsPerSecond'),
      bytes: this.#pace.atATime('maxCopyBytesPerSecond'),
    };
  }

  /** How many changes to apply at a time. */
  get changes(): number {
    return this.#pace.atATime('maxChangesPerSecond');
  }

  /** Waits until documents may be copied. */
  async copy(documents: PacedDocuments): Promise<void> {
    await this.#pace.copy(documents, this.#signal);
  }

  /** Waits until changes may be applied. */
  async apply(changes: number): Promise<void> {
    await this.#pace.apply(changes, this.#signal);
  }
}
