import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { leases, type Lease } from './builtin-resources.ts';
import type { KubeClient } from './client.ts';
import { sleepOn, systemClock, type Clock } from './clock.ts';
import { isAlreadyExists, isConflict } from './kube-error.ts';
import type { KubeMetrics } from './metrics.ts';
import { microTime } from './micro-time.ts';

/** What an elector needs. The times are client-go's by default. */
export interface LeaderElectorOptions {
  readonly client: KubeClient;
  /** Of the Lease. */
  readonly namespace: string;
  readonly name: string;
  /** Identity of this process: unique among the candidates, and new each time a process starts. */
  readonly identity: string;
  readonly logger: Logger;
  readonly metrics: KubeMetrics;
  /** How long the others wait after they saw the last renewal. 15 s by default. */
  readonly leaseDurationMs?: number;
  /** A leader that could not renew for this time gives up; shorter than the lease. 10 s by default. */
  readonly renewDeadlineMs?: number;
  /** Time between two attempts. 2 s by default. */
  readonly retryPeriodMs?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** The lease could not be renewed in time: another process may lead by now, so this one must stop at once. */
export class LeadershipLostError extends Error {
  override readonly name = 'LeadershipLostError';
}

/** A lease as others see it: if any of it changes, its holder was alive then. */
interface Observation {
  readonly lease: Lease;
  /** By the clock of this process: it is never compared with clocks of other machines. */
  readonly observedMs: number;
}

/** Elects one leader among processes with a Lease, by the rules of client-go's leader election. */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #clock: Clock;
  readonly #leaseDurationMs: number;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  #observed: Observation | undefined;
  #isHeld = false;
  /** When the last successful renewal was sent. */
  #renewedMs = Number.NEGATIVE_INFINITY;
  /** When the API server last answered a request about the lease. */
  #answeredMs = Number.NEGATIVE_INFINITY;

  /** @throws TypeError unless retryPeriod < renewDeadline < leaseDuration. */
  constructor(options: LeaderElectorOptions) {
    const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = options;
    if (!(retryPeriodMs < renewDeadlineMs && renewDeadlineMs < leaseDurationMs)) {
      throw new TypeError('leader election needs retryPeriod < renewDeadline < leaseDuration');
    }
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#leaseDurationMs = leaseDurationMs;
    this.#renewDeadlineMs = renewDeadlineMs;
    this.#retryPeriodMs = retryPeriodMs;
    options.metrics.isLeader.set({ name: options.name }, 0);
  }

  /** Whether this process leads: never true longer than its lease. */
  get isLeader(): boolean {
    return this.#isHeld && this.#clock.monotonicMs() - this.#renewedMs < this.#leaseDurationMs;
  }

  /** The leader, as far as is known. */
  get leader(): string | undefined {
    return this.#observed?.lease.spec?.holderIdentity ?? undefined;
  }

  /**
   * For the liveness of the process: false if it holds a lease that ended `toleranceMs` ago and has not noticed,
   * so that its renewing must be stuck.
   */
  isAlive(toleranceMs = 20_000): boolean {
    if (!this.#isHeld) return true;
    return this.#clock.monotonicMs() - this.#renewedMs < this.#leaseDurationMs + toleranceMs;
  }

  /** For the readiness of the process: whether it has read or written the lease within the lease's duration. */
  isInTouch(): boolean {
    return this.#clock.monotonicMs() - this.#answeredMs < this.#leaseDurationMs;
  }

  /**
   * Waits to become the leader, then calls `lead` once, with a signal that is aborted when `signal` is or when leadership
   * is lost. When `lead` has ended, the lease is released for the others.
   *
   * Resolves when the signal was aborted or `lead` has ended on its own; rejects with what `lead` throws.
   * @param onLost - called at once when leadership is lost. `lead` may take a while to notice its signal; the process
   * should exit rather than wait for it.
   * @throws LeadershipLostError, when `lead` has ended after the loss.
   */
  async run(
    signal: AbortSignal,
    lead: (leading: AbortSignal) => Promise<void>,
    onLost: (error: LeadershipLostError) => void = () => undefined,
  ): Promise<void> {
    const { logger, name, identity } = this.#options;
    if (!(await this.#acquire(signal))) return;
    logger.info({ lease: name, identity }, 'leading');
    const leading = new AbortController();
    const stopRenewing = new AbortController();
    const stop = (): void => {
      leading.abort(signal.reason);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    let lost: LeadershipLostError | undefined;
    const renewing = this.#renew(stopRenewing.signal).then((error) => {
      if (!error) return;
      lost = error;
      this.#setHeld(false);
      logger.error({ lease: name, identity }, error.message);
      onLost(error);
      leading.abort(error);
    });
    try {
      await lead(leading.signal);
    } catch (error) {
      // Both aborts are reported otherwise: by resolving, and by the error of the loss.
      if (!leading.signal.aborted) throw error;
      logger.debug({ reason: messageOf(error) }, 'stopped leading');
    } finally {
      signal.removeEventListener('abort', stop);
      stopRenewing.abort();
      await renewing;
      if (this.#isHeld) await this.#release();
    }
    if (lost) throw lost;
  }

  /** Tries until this process holds the lease. False if the signal was aborted before. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { logger, name, random = Math.random } = this.#options;
    let knownLeader: string | undefined;
    try {
      for (;;) {
        if (await this.#tryToHold(signal)) return true;
        if (this.leader !== knownLeader) {
          knownLeader = this.leader;
          logger.info({ lease: name, leader: knownLeader }, 'waiting for the lease');
        }
        // Jitter: candidates that started together must not retry together.
        const waitMs = this.#retryPeriodMs * (1 + 1.2 * random());
        await sleepOn(this.#clock, waitMs, signal);
      }
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
  }

  /** Renews until the signal is aborted (undefined) or leadership is lost. */
  async #renew(signal: AbortSignal): Promise<LeadershipLostError | undefined> {
    for (;;) {
      const leftMs = this.#renewedMs + this.#renewDeadlineMs - this.#clock.monotonicMs();
      try {
        await sleepOn(this.#clock, Math.min(this.#retryPeriodMs, Math.max(leftMs, 0)), signal);
        // A frozen process wakes up here: the lease may long belong to another one.
        if (this.#clock.monotonicMs() - this.#renewedMs >= this.#renewDeadlineMs) {
          return new LeadershipLostError(
            `the lease could not be renewed for ${this.#renewDeadlineMs} ms`,
          );
        }
        if (!(await this.#tryToHold(signal)) && this.#isHeldByOther()) {
          return new LeadershipLostError(`the lease is now held by ${this.leader ?? 'nobody'}`);
        }
      } catch (error) {
        if (signal.aborted) return undefined;
        throw error;
      }
    }
  }

  #isHeldByOther(): boolean {
    return this.leader !== this.#options.identity;
  }

  /** One attempt to get or renew the lease. Rejects only with the signal's reason. */
  async #tryToHold(signal: AbortSignal): Promise<boolean> {
    const { client, namespace, name, logger } = this.#options;
    const startMs = this.#clock.monotonicMs();
    try {
      // Renewing needs no read: the version written last guards against changes by others.
      if (!this.#isHeld || this.#observed === undefined) {
        this.#observe(await client.find(leases, { namespace, name }, this.#call(signal)));
      }
      const former = this.#observed?.lease;
      if (former && this.#isAnothers(former)) return false;
      const wanted = this.#leaseAfter(former);
      const written = former
        ? await client.replace(leases, wanted, this.#call(signal))
        : await client.create(leases, wanted, this.#call(signal));
      this.#observed = { lease: written, observedMs: this.#clock.monotonicMs() };
      this.#renewedMs = startMs;
      this.#answeredMs = this.#observed.observedMs;
      this.#setHeld(true);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (isConflict(error) || isAlreadyExists(error)) {
        await this.#observeAgain(signal);
      } else {
        logger.warn({ lease: name, reason: messageOf(error) }, 'the lease could not be updated');
        // It may have been written despite the error: read the version before the next attempt.
        if (this.#isHeld) await this.#observeAgain(signal);
      }
      return false;
    }
  }

  async #observeAgain(signal: AbortSignal): Promise<void> {
    const { client, namespace, name } = this.#options;
    try {
      this.#observe(await client.find(leases, { namespace, name }, this.#call(signal)));
    } catch {
      signal.throwIfAborted();
      // The next attempt will show; until then the former observation counts.
    }
  }

  /**
   * The deadline of a request. A slow API server is no reason to give up leadership; but if the connection is dead, there must be time to
   * try another one.
   */
  #call(signal: AbortSignal): { readonly signal: AbortSignal; readonly deadlineMs: number } {
    const leftMs = this.#isHeld
      ? this.#renewedMs + this.#renewDeadlineMs - this.#clock.monotonicMs()
      : this.#renewDeadlineMs;
    const deadlineMs = Math.max(leftMs / 2, Math.min(leftMs, this.#retryPeriodMs), 1);
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
    if (isChanged) this.#observed = { lease, observedMs: this.#clock.monotonicMs() };
  }

  /** Whether another process holds the lease, and its duration, counted from when it was last seen to change, is not over. */
  #isAnothers({ spec }: Lease): boolean {
    const holder = spec?.holderIdentity ?? '';
    if (holder === '' || holder === this.#options.identity) return false;
    const durationMs = (spec?.leaseDurationSeconds ?? 0) * 1000;
    return this.#clock.monotonicMs() < (this.#observed?.observedMs ?? 0) + durationMs;
  }

  #leaseAfter(former: Lease | undefined): Lease {
    const { namespace, name, identity } = this.#options;
    const now = microTime(this.#clock.wallMs());
    const isOurs = former?.spec?.holderIdentity === identity;
    const transitions = former?.spec?.leaseTransitions ?? 0;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: former?.metadata ?? { namespace, name },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(this.#leaseDurationMs / 1000),
        acquireTime: isOurs ? (former.spec.acquireTime ?? now) : now,
        renewTime: now,
        leaseTransitions: former && !isOurs ? transitions + 1 : transitions,
      },
    };
  }

  /** Releases the lease to the others. Never throws: if it fails, they wait until it ends. */
  async #release(): Promise<void> {
    const { client, name, identity, logger } = this.#options;
    this.#setHeld(false);
    const lease = this.#observed?.lease;
    if (lease?.spec?.holderIdentity !== identity) return;
    const now = microTime(this.#clock.wallMs());
    const spec = {
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: lease.spec.leaseTransitions ?? 0,
    };
    try {
      const call = { signal: new AbortController().signal, deadlineMs: this.#retryPeriodMs };
      await client.replace(leases, { ...lease, spec }, call);
      logger.info({ lease: name, identity }, 'lease released');
    } catch (error) {
      logger.warn({ lease: name, reason: messageOf(error) }, 'the lease could not be released');
    }
  }

  #setHeld(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#options.metrics.isLeader.set({ name: this.#options.name }, isHeld ? 1 : 0);
  }
}
