import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import type { KubeClient } from './client.ts';
import { sleepOn, systemClock, type Clock } from './clock.ts';
import { HeldLease } from './held-lease.ts';
import type { KubeMetrics } from './metrics.ts';

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

/** The lease could not be renewed in time: another process may lead by now, so this one must stop immediately. */
export class LeadershipLostError extends Error {
  override readonly name = 'LeadershipLostError';
}

/** Elects one leader among processes with a Lease, by the rules of client-go's leader election. */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #clock: Clock;
  readonly #lease: HeldLease;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;

  /** @throws TypeError unless retryPeriod < renewDeadline < leaseDuration. */
  constructor(options: LeaderElectorOptions) {
    const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#renewDeadlineMs = renewDeadlineMs;
    this.#retryPeriodMs = retryPeriodMs;
    this.#lease = new HeldLease({
      ...options,
      ...{ leaseDurationMs, renewDeadlineMs, retryPeriodMs, clock: this.#clock },
    });
    options.metrics.isLeader.set({ name: options.name }, 0);
  }

  /** Whether this process leads: never true longer than its lease. */
  get isLeader(): boolean {
    return this.#lease.isHeld;
  }

  /** The leader, as far as is known. */
  get leader(): string | undefined {
    return this.#lease.holder;
  }

  /**
   * For the liveness of the process: false if it holds a lease that ended `toleranceMs` ago and has not noticed,
   * so that its renewing must be stuck.
   */
  isAlive(toleranceMs = 20_000): boolean {
    return !this.#lease.isOverdue(toleranceMs);
  }

  /** For the readiness of the process: whether it has read or written the lease within the lease's duration. */
  isInTouch(): boolean {
    return this.#lease.isInTouch();
  }

  /**
   * Waits to become the leader, then calls `lead` once, with a signal that is aborted when `signal` is or when leadership
   * is lost. When `lead` has ended, the lease is released for the others.
   *
   * Resolves when the signal was aborted or `lead` has ended on its own; rejects with what `lead` throws.
   * @param onLost - called immediately when leadership is lost. `lead` may take a while to notice its signal; the process
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
      this.#lease.giveUp();
      this.#showLeading();
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
      await this.#release();
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
      const leftMs = this.#lease.renewableMs;
      try {
        await sleepOn(this.#clock, Math.min(this.#retryPeriodMs, Math.max(leftMs, 0)), signal);
        // A frozen process wakes up here: the lease may long belong to another one.
        if (this.#lease.renewableMs <= 0) {
          return new LeadershipLostError(
            `the lease could not be renewed for ${this.#renewDeadlineMs} ms`,
          );
        }
        if (!(await this.#tryToHold(signal)) && this.leader !== this.#options.identity) {
          return new LeadershipLostError(`the lease is now held by ${this.leader ?? 'nobody'}`);
        }
      } catch (error) {
        if (signal.aborted) return undefined;
        throw error;
      }
    }
  }

  /** One attempt to get or renew the lease. Rejects only with the signal's reason. */
  async #tryToHold(signal: AbortSignal): Promise<boolean> {
    const attempt = await this.#lease.tryToHold(signal);
    this.#showLeading();
    if (attempt.kind === 'failed') {
      const { name, logger } = this.#options;
      const reason = messageOf(attempt.error);
      logger.warn({ lease: name, reason }, 'the lease could not be updated');
    }
    return attempt.kind === 'held';
  }

  /** Releases the lease to the others. Never throws: if it fails, they wait until it ends. */
  async #release(): Promise<void> {
    const { name, identity, logger } = this.#options;
    const release = await this.#lease.release();
    this.#showLeading();
    if (release.kind === 'released') logger.info({ lease: name, identity }, 'lease released');
    if (release.kind !== 'failed') return;
    const reason = messageOf(release.error);
    logger.warn({ lease: name, reason }, 'the lease could not be released');
  }

  #showLeading(): void {
    const { metrics, name } = this.#options;
    metrics.isLeader.set({ name }, this.isLeader ? 1 : 0);
  }
}
