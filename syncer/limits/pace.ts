import { HeldTime } from '../../service/held-time.ts';
import { type BucketClock, TokenBucket } from '../../service/token-bucket.ts';
import type { Limits, SyncProgress } from '../../sync-api/json.ts';
import type { LimitWindow } from '../options/limit-schedule.ts';
import {
  allowedRates,
  type Allowance,
  type LimitSituation,
  type PacedKind,
  type RateName,
} from './allowed-rates.ts';
import type { BrakeName, HoldBack } from '../options/hold-back.ts';
import { type Brake, brakesAfter, brakeText, type Reading } from './brakes.ts';

/** What passes without delay after a time without any work, and how much work is taken on at a time: that of one second. */
const burstSeconds = 1;

/** What the pace depends on, in addition to what has passed. */
export type PaceSituation = Omit<LimitSituation, 'copyLeft' | 'brakes' | 'readings'> & {
  /** The window of the schedule that holds now. */
  readonly window: LimitWindow | undefined;
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
  #readings: readonly Reading[] = [];
  #brakes: readonly Brake[] = [];
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
    this.#allowance = this.#allow();
    this.update();
  }

  /** What is to be measured now; undefined for nothing. */
  get holdBack(): HoldBack | undefined {
    return this.#situation().limits.holdBack;
  }

  /** What was measured, and holds, or would if nothing won over it. */
  get measuredBrakes(): readonly Brake[] {
    return this.#brakes.filter(({ value }) => value !== undefined);
  }

  /** Takes up what was measured. */
  measured(readings: readonly Reading[]): void {
    this.#readings = readings;
    this.update();
  }

  /** Forgets what was measured: nothing that is to be measured lets anything pass before it is. */
  forgetMeasured(): void {
    this.#brakes = [];
    this.measured([]);
  }

  /** What people have to know about the limits now. */
  get warnings(): readonly string[] {
    return this.#allowance.warnings;
  }

  /** True while a limit holds changes back: they are not applied soon. */
  get isHoldingChanges(): boolean {
    return this.#held.changes.isHeld;
  }

  /** Whether changes are limited now: each instance works within its share of the limits, and measures the same servers. */
  get areChangesLimited(): boolean {
    return this.rate('maxChangesPerSecond') !== undefined;
  }

  /** Seconds for which something was held back by this process, in total. */
  heldSeconds(kind: PacedKind): number {
    return this.#held[kind].totalMs / 1000;
  }

  /** The rate that is allowed now: undefined for no limit, 0 if nothing may pass. */
  rate(name: RateName): number | undefined {
    return this.#allowance.brakes[kindOf[name]].length > 0 ? 0 : this.#requestedRate(name);
  }

  /** What holds something back now, by its name in the limits. */
  get reasons(): ReadonlySet<RateName | BrakeName> {
    return new Set(
      this.#waiting.flatMap((name): (RateName | BrakeName)[] => {
        const brakes = this.#allowance.brakes[kindOf[name]];
        return brakes.length === 0 ? [name] : brakes.map(({ limit }) => limit);
      }),
    );
  }

  get #waiting(): readonly RateName[] {
    return rateNames.filter((name) => this.#buckets[name].waiting > 0);
  }

  #requestedRate(name: RateName): number | undefined {
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
    const holdBack = this.holdBack ?? {};
    this.#brakes = brakesAfter(holdBack, this.#readings, this.#brakes);
    this.#readings = this.#readings.filter(({ limit }) => holdBack[limit] !== undefined);
    this.#allowance = this.#allow();
    for (const name of rateNames) this.#buckets[name].setRate(this.rate(name));
  }

  #allow(): Allowance {
    const { copyBytes, copiedBytes, ...situation } = this.#situation();
    const bytes = Math.max(0, (copyBytes ?? 0) - copiedBytes);
    const documents = this.#documents === 0 ? null : (bytes * this.#documents) / this.#bytes;
    const copyLeft = copyBytes === null ? null : { bytes, documents };
    const [brakes, readings] = [this.#brakes, this.#readings];
    return allowedRates({ ...situation, copyLeft, brakes, readings });
  }

  /** How much to take on at a time, so that nothing waits for much longer than a burst: at least 1; infinite without a limit. */
  atATime(name: RateName): number {
    return Math.max(1, Math.floor((this.#requestedRate(name) ?? Infinity) * burstSeconds));
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
    const { copy, changes } = this.#held;
    const whole = (rate: number | undefined): number | null =>
      rate === undefined ? null : rate < 1 ? Math.ceil(rate) : Math.floor(rate);
    const shareOf = (held: HeldTime): number => Math.round(held.shareOfLastMinute * 100) / 100;
    return {
      requested,
      allowed: {
        copyBytesPerSecond: whole(this.rate('maxCopyBytesPerSecond')),
        copyDocumentsPerSecond: whole(this.rate('maxCopyDocumentsPerSecond')),
        changesPerSecond: whole(this.rate('maxChangesPerSecond')),
        concurrentBatches: this.#allowance.rates.concurrentBatches ?? null,
      },
      heldBackBy: this.#heldBackBy(),
      secondsHeldBack: {
        copy: Math.round(copy.totalMs / 1000),
        changes: Math.round(changes.totalMs / 1000),
      },
      shareOfLastMinute: { copy: shareOf(copy), changes: shareOf(changes) },
    };
  }

  #heldBackBy(): string[] {
    const { window } = this.#situation();
    const texts = this.#waiting.flatMap((name) => {
      const brakes = this.#allowance.brakes[kindOf[name]];
      return brakes.length === 0 ? [rateText(name, window)] : brakes.map(brakeText);
    });
    return [...new Set(texts)];
  }
}

const kindOf = {
  maxCopyBytesPerSecond: 'copy',
  maxCopyDocumentsPerSecond: 'copy',
  maxChangesPerSecond: 'changes',
} as const satisfies Record<RateName, PacedKind>;

/** The name of a limit, and the window of the schedule that it is from, if any. */
function rateText(name: RateName, window: LimitWindow | undefined): string {
  if (window?.[name] === undefined) return name;
  const { from, to, timeZone = 'UTC' } = window;
  return `${name} (schedule: ${from} to ${to}, ${timeZone})`;
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
