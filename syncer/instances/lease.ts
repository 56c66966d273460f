import type { LeaseStore } from '../store/lease-store.ts';
import { millisecondsBetween, momentNow, type Moment } from '../../service/moment.ts';

/** How long a coordinator remains one after its last renewal. */
const leaseMs = 15_000;

/** How long it relies on that: shorter, as clocks differ and messages take time. */
const reliableMs = 9_000;

const renewEveryMs = 3_000;

/** How long an instance that is not preferred lets the others become the first coordinator. */
const courtesyMs = 2_000;

/** Another instance may be the coordinator by now. */
export class LeaseLost extends Error {
  constructor() {
    super('this instance is not the coordinator, or may no longer be');
    this.name = 'LeaseLost';
  }
}

/**
 * The right to coordinate: one instance has it at a time. It lasts for a time by the server's clock, and the instance relies on
 * it for a shorter time by two clocks of its own.
 */
export class Lease {
  readonly #store: Pick<LeaseStore, 'take' | 'renew'>;
  readonly #isPreferred: boolean;
  readonly #now: () => Moment;
  readonly #begunAt: Moment;
  #triedAt: Moment | undefined;
  /** When the last granted lease was requested; undefined if another instance has it. */
  #grantedAt: Moment | undefined;
  /** How many times it was asked for, and which of these questions is the latest that was answered. */
  #asked = 0;
  #answered = 0;
  #term = 0;
  /** When the lease of this term was granted, by performance.now. */
  #takenAtMs = 0;

  constructor(
    store: Pick<LeaseStore, 'take' | 'renew'>,
    isPreferred: boolean,
    now: () => Moment = momentNow,
  ) {
    this.#store = store;
    this.#isPreferred = isPreferred;
    this.#now = now;
    this.#begunAt = now();
  }

  /** True if this instance is certainly the coordinator. */
  get isHeld(): boolean {
    return this.#grantedAt !== undefined && this.#since(this.#grantedAt) < reliableMs;
  }

  /** The number of this instance's current term as the coordinator; undefined while it is not. */
  get term(): number | undefined {
    return this.isHeld ? this.#term : undefined;
  }

  /** When this instance last became the coordinator, by performance.now. */
  get takenAtMs(): number {
    return this.#takenAtMs;
  }

  /** Throws LeaseLost if it is not. */
  readonly require = (): void => {
    if (!this.isHeld) throw new LeaseLost();
  };

  /**
   * Renews the lease when it is due, or requests it. To be called all the time, even while an earlier call is under way: a slow
   * answer to that is outdated then.
   * @param mayTake - false while work of this instance as the coordinator is under way: if another instance has had the lease
   * meanwhile, that work has to end first, and none of it may continue under another lease.
   */
  async keep({ mayTake = true }: { readonly mayTake?: boolean } = {}): Promise<void> {
    if (this.#grantedAt === undefined && !mayTake) return;
    if (this.#triedAt !== undefined && this.#since(this.#triedAt) < this.#intervalMs) return;
    const at = this.#now();
    this.#triedAt = at;
    const number = ++this.#asked;
    const mayBeFirst = this.#isPreferred || this.#since(this.#begunAt) >= courtesyMs;
    const wasGranted = this.#grantedAt !== undefined;
    const isGranted = wasGranted
      ? await this.#store.renew(leaseMs)
      : await this.#store.take(leaseMs, mayBeFirst);
    if (number < this.#answered) return;
    this.#answered = number;
    if (isGranted && this.#grantedAt === undefined) {
      this.#term++;
      this.#takenAtMs = performance.now();
    }
    this.#grantedAt = isGranted ? at : undefined;
  }

  get #intervalMs(): number {
    return this.#grantedAt ? renewEveryMs : renewEveryMs / 6;
  }

  #since(moment: Moment): number {
    return millisecondsBetween(moment, this.#now());
  }
}
