import { leases, type Lease } from './builtin-resources.ts';
import type { KubeClient } from './client.ts';
import type { Clock } from './clock.ts';
import { isAlreadyExists, isConflict, isInvalid } from './kube-error.ts';
import { microTime } from './micro-time.ts';

/** The largest number in a field of 32 bits: anybody may have written it there. */
const maxInt32 = 2 ** 31 - 1;

/** What holding a Lease needs. */
export interface HeldLeaseOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  /** The identity of its holder: processes with the same identity hold it together. */
  readonly identity: string;
  /** How long the others wait after they saw the last renewal. */
  readonly leaseDurationMs: number;
  /** A holder that could not renew for this time gives up; shorter than the lease. */
  readonly renewDeadlineMs: number;
  /** Time between two attempts. */
  readonly retryPeriodMs: number;
  readonly clock: Clock;
}

/** What has come of an attempt to get or renew a Lease. */
export type Attempt =
  | { readonly kind: 'held' }
  /** Another one holds it, or has just changed it. */
  | { readonly kind: 'others' }
  /** The API server has not done it, or has not said so. */
  | { readonly kind: 'failed'; readonly error: unknown };

/** What has come of releasing a Lease. */
export type Release =
  | { readonly kind: 'released' }
  | { readonly kind: 'not held' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** A lease as others see it: if any of it changes, its holder was alive then. */
interface Observation {
  readonly lease: Lease;
  /** By the clock of this process: it is never compared with clocks of other machines. */
  readonly observedMs: number;
}

/** A Lease that one of several may hold, by the rules of client-go's leader election. */
export class HeldLease {
  readonly #options: HeldLeaseOptions;
  readonly #clock: Clock;
  #observed: Observation | undefined;
  #isHeld = false;
  /** When the last successful renewal was sent. */
  #renewedMs = Number.NEGATIVE_INFINITY;
  #othersUntilMs = Number.NEGATIVE_INFINITY;
  /** When the API server last answered a request about the lease. */
  #answeredMs = Number.NEGATIVE_INFINITY;

  /** @throws TypeError unless retryPeriod < renewDeadline < leaseDuration. */
  constructor(options: HeldLeaseOptions) {
    const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = options;
    if (!(retryPeriodMs < renewDeadlineMs && renewDeadlineMs < leaseDurationMs)) {
      throw new TypeError('a lease needs retryPeriod < renewDeadline < leaseDuration');
    }
    this.#options = options;
    this.#clock = options.clock;
  }

  /** Whether this process holds it: never true longer than the lease. */
  get isHeld(): boolean {
    return this.#isHeld && this.#sinceRenewalMs < this.#options.leaseDurationMs;
  }

  /** Who holds it, as far as is known; empty if it was released. */
  get holder(): string | undefined {
    return this.#observed?.lease.spec?.holderIdentity ?? undefined;
  }

  /**
   * Until when the last other holder that was seen may take itself for the holder, by the monotonic clock, though the Lease may be gone
   * meanwhile: as long as its duration, but no longer than this one's. In the past if none was seen.
   */
  get othersUntilMs(): number {
    return this.#othersUntilMs;
  }

  /** How long it may still be renewed; not positive once that is over. */
  get renewableMs(): number {
    return this.#options.renewDeadlineMs - this.#sinceRenewalMs;
  }

  /** Whether it ended `toleranceMs` ago, and nothing here has noticed. */
  isOverdue(toleranceMs: number): boolean {
    return this.#isHeld && this.#sinceRenewalMs >= this.#options.leaseDurationMs + toleranceMs;
  }

  /** Whether the lease was read or written within its duration. */
  isInTouch(): boolean {
    return this.#clock.monotonicMs() - this.#answeredMs < this.#options.leaseDurationMs;
  }

  /** Takes it that it is lost. */
  giveUp(): void {
    this.#isHeld = false;
  }

  /** One attempt to get or renew it. Rejects only with the signal's reason. */
  async tryToHold(signal: AbortSignal): Promise<Attempt> {
    const { client } = this.#options;
    const startMs = this.#clock.monotonicMs();
    let former: Lease | undefined;
    try {
      // Renewing needs no read: the version written last guards against changes by others.
      if (!this.#isHeld || this.#observed === undefined) await this.#read(signal);
      former = this.#observed?.lease;
      if (former && this.#isAnothers(former)) return { kind: 'others' };
      // A PUT also creates a Lease: unlike a POST, the right to it can be limited to its name.
      const written = await client.replace(leases, this.#leaseAfter(former), this.#call(signal));
      this.#observed = { lease: written, observedMs: this.#clock.monotonicMs() };
      this.#renewedMs = startMs;
      this.#answeredMs = this.#observed.observedMs;
      this.#isHeld = true;
      return { kind: 'held' };
    } catch (error) {
      signal.throwIfAborted();
      const isChanged = isConflict(error) || isAlreadyExists(error);
      // Created meanwhile: then only a write that names its version may change it, and this one is invalid (API server 1.34).
      const mayBeCreated = former === undefined && isInvalid(error);
      // It may have been written despite the error: read the version before the next attempt. One that is not held is read then anyway.
      if (isChanged || mayBeCreated || this.#isHeld) await this.#readAgain(signal);
      const isOthers = isChanged || (mayBeCreated && this.#observed !== undefined);
      // Also where it was deleted: anybody may create it.
      if (this.holder !== this.#options.identity) this.giveUp();
      return isOthers ? { kind: 'others' } : { kind: 'failed', error };
    }
  }

  /** Releases it to the others. Never throws: if it fails, they wait until it ends. */
  async release(): Promise<Release> {
    if (!this.#isHeld) return { kind: 'not held' };
    this.#isHeld = false;
    const { client, identity, retryPeriodMs } = this.#options;
    const lease = this.#observed?.lease;
    if (lease?.spec?.holderIdentity !== identity) return { kind: 'not held' };
    const now = microTime(this.#clock.wallMs());
    const spec = {
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: lease.spec.leaseTransitions ?? 0,
    };
    try {
      const call = { signal: new AbortController().signal, deadlineMs: retryPeriodMs };
      await client.replace(leases, { ...lease, spec }, call);
      return { kind: 'released' };
    } catch (error) {
      return { kind: 'failed', error };
    }
  }

  get #sinceRenewalMs(): number {
    return this.#clock.monotonicMs() - this.#renewedMs;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { client, namespace, name } = this.#options;
    this.#observe(await client.find(leases, { namespace, name }, this.#call(signal)));
  }

  async #readAgain(signal: AbortSignal): Promise<void> {
    try {
      await this.#read(signal);
    } catch {
      signal.throwIfAborted();
      // The next attempt will show; until then the previous observation counts.
    }
  }

  /**
   * The deadline of a request. A slow API server is not a reason to give it up; but if the connection is dead, there must be time to try
   * another one.
   */
  #call(signal: AbortSignal): { readonly signal: AbortSignal; readonly deadlineMs: number } {
    const { renewDeadlineMs, retryPeriodMs } = this.#options;
    const leftMs = this.#isHeld ? this.renewableMs : renewDeadlineMs;
    const deadlineMs = Math.max(leftMs / 2, Math.min(leftMs, retryPeriodMs), 1);
    return { signal, deadlineMs };
  }

  #observe(lease: Lease | undefined): void {
    this.#answeredMs = this.#clock.monotonicMs();
    if (lease === undefined) {
      this.#observed = undefined;
      return;
    }
    const before = this.#observed?.lease.metadata;
    const isChanged =
      before?.uid !== lease.metadata.uid ||
      before?.resourceVersion !== lease.metadata.resourceVersion;
    if (!isChanged) return;
    const observedMs = this.#clock.monotonicMs();
    this.#observed = { lease, observedMs };
    const durationMs = Math.min(durationMsOf(lease), this.#options.leaseDurationMs);
    if (this.#namesAnother(lease)) this.#othersUntilMs = observedMs + durationMs;
  }

  /** Whether another one holds the lease, and its duration, counted from when it was last seen to change, is not over. */
  #isAnothers(lease: Lease): boolean {
    if (!this.#namesAnother(lease)) return false;
    return this.#clock.monotonicMs() < (this.#observed?.observedMs ?? 0) + durationMsOf(lease);
  }

  #namesAnother({ spec }: Lease): boolean {
    const holder = spec?.holderIdentity ?? '';
    return holder !== '' && holder !== this.#options.identity;
  }

  #leaseAfter(former: Lease | undefined): Lease {
    const { namespace, name, identity, leaseDurationMs } = this.#options;
    const now = microTime(this.#clock.wallMs());
    const isOurs = former?.spec?.holderIdentity === identity;
    const transitions = former?.spec?.leaseTransitions ?? 0;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: former?.metadata ?? { namespace, name },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
        acquireTime: isOurs ? (former.spec.acquireTime ?? now) : now,
        renewTime: now,
        leaseTransitions: Math.min(former && !isOurs ? transitions + 1 : transitions, maxInt32),
      },
    };
  }
}

function durationMsOf({ spec }: Lease): number {
  return (spec?.leaseDurationSeconds ?? 0) * 1_000;
}
