import { randomUUID } from 'node:crypto';
import type { Logger } from '../../service/logger.ts';
import { systemClock, type Clock } from './clock.ts';
import { Deadline } from './deadline.ts';
import { isConflict } from './kube-error.ts';
import type { KubeMetrics } from './metrics.ts';
import { WorkQueue } from './work-queue.ts';

/** What a reconcile requests when it has succeeded. */
export interface ReconcileResult {
  /** Reconcile again after this time, whatever happens. */
  readonly requeueAfterMs?: number | undefined;
  /** Nothing could be done for the object now: it is not counted as reconciled. */
  readonly isPostponed?: boolean;
}

/** What a reconcile receives in addition to the key. */
export interface ReconcileContext {
  /** Aborted when the reconcile's deadline has passed, or when the shutdown no longer waits. */
  readonly signal: AbortSignal;
  /** With the fields controller, object and reconcileID. */
  readonly logger: Logger;
}

/** Moves the world towards what the object asks for. Level-triggered: it gets the object's key, not what happened. */
export type Reconcile = (key: string, context: ReconcileContext) => Promise<ReconcileResult>;

/** An error that the same reconcile would hit again: not retried until the object changes. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}

/** What a controller needs. */
export interface ControllerOptions {
  /** For metrics and logs. */
  readonly name: string;
  readonly reconcile: Reconcile;
  readonly logger: Logger;
  readonly metrics: KubeMetrics;
  /** How many objects are reconciled at the same time. 2 by default. */
  readonly workers?: number;
  /** How many objects of one namespace are reconciled at the same time: as many as there are workers by default. */
  readonly workersPerNamespace?: number;
  /** Deadline of one reconcile: 60 s by default. */
  readonly deadlineMs?: number;
  /** How long a shutdown waits for running reconciles before it aborts them: 10 s by default. */
  readonly drainMs?: number;
  /** For retries after errors: see WorkQueueOptions. */
  readonly baseDelayMs?: number;
  readonly maxDelayMs?: number;
  /** From 0 to 1, for the jitter of requeues. */
  readonly random?: () => number;
  /** By default, whether it is a TerminalError. */
  readonly isTerminal?: (error: unknown) => boolean;
  readonly clock?: Clock;
}

/** Shorter delays wait for something definite; longer ones only check whether anything was missed. */
const jitteredFromMs = 10_000;
const maxJitterMs = 5_000;

/** Keeps objects that were all seen at the same time, when an operator started, from being reconciled together forever. */
function jitterMs(ms: number, random: number): number {
  return ms < jitteredFromMs ? 0 : random * Math.min(ms / 10, maxJitterMs);
}

/** Reconciles the keys in its queue, each by one worker at a time. */
export class Controller {
  /** Handlers of informers add keys here; also before {@link run}. */
  readonly queue: WorkQueue;
  readonly #options: ControllerOptions;
  readonly #clock: Clock;
  readonly #workers: number;
  readonly #labels: { readonly controller: string };

  constructor(options: ControllerOptions) {
    const { name, metrics, workers = 2, clock = systemClock } = options;
    const { workersPerNamespace = workers, baseDelayMs, maxDelayMs } = options;
    this.#options = options;
    this.#clock = clock;
    this.#workers = workers;
    this.#labels = { controller: name };
    this.queue = new WorkQueue({
      name,
      metrics,
      clock,
      maxPerNamespace: workersPerNamespace,
      ...(baseDelayMs === undefined ? {} : { baseDelayMs }),
      ...(maxDelayMs === undefined ? {} : { maxDelayMs }),
    });
    metrics.maxConcurrentReconciles.set(this.#labels, workers);
    metrics.activeWorkers.set(this.#labels, 0);
    metrics.reconcileErrors.inc(this.#labels, 0);
    metrics.reconcileTerminalErrors.inc(this.#labels, 0);
    metrics.reconcileTimeouts.inc(this.#labels, 0);
  }

  /**
   * Reconciles until the signal is aborted; then takes no more keys, and resolves when the running reconciles have
   * ended. A controller runs once.
   */
  async run(signal: AbortSignal): Promise<void> {
    const hard = new AbortController();
    let cancelHard = (): void => undefined;
    const stop = (): void => {
      this.queue.shutDown();
      cancelHard = this.#clock.schedule(this.#options.drainMs ?? 10_000, () => {
        hard.abort(signal.reason);
      });
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    try {
      await Promise.all(
        Array.from({ length: this.#workers }, async () => {
          await this.#work(signal, hard.signal);
        }),
      );
    } finally {
      cancelHard();
      signal.removeEventListener('abort', stop);
    }
  }

  async #work(stopping: AbortSignal, hard: AbortSignal): Promise<void> {
    let key: string | undefined;
    while ((key = await this.queue.take()) !== undefined) {
      try {
        // Keys left at the end are for the next process: it begins with every object.
        if (!stopping.aborted) await this.#reconcile(key, hard);
      } finally {
        this.queue.done(key);
      }
    }
  }

  async #reconcile(key: string, hard: AbortSignal): Promise<void> {
    const { name, metrics, reconcile, deadlineMs = 60_000, random = Math.random } = this.#options;
    const logger = this.#options.logger.child({
      controller: name,
      object: key,
      reconcileID: randomUUID(),
    });
    using deadline = new Deadline(hard, deadlineMs, this.#clock);
    const startMs = this.#clock.monotonicMs();
    metrics.activeWorkers.inc(this.#labels);
    try {
      const context = { signal: deadline.signal, logger };
      const { requeueAfterMs, isPostponed = false } = await reconcile(key, context);
      this.queue.forget(key);
      if (requeueAfterMs !== undefined) {
        this.queue.addAfter(key, requeueAfterMs + jitterMs(requeueAfterMs, random()));
      }
      if (!isPostponed) this.#count(requeueAfterMs === undefined ? 'success' : 'requeue_after');
    } catch (error) {
      if (deadline.isExpired) metrics.reconcileTimeouts.inc(this.#labels);
      this.#failed(key, error, hard, logger);
    } finally {
      metrics.activeWorkers.dec(this.#labels);
      metrics.reconcileSeconds.observe(this.#labels, (this.#clock.monotonicMs() - startMs) / 1000);
    }
  }

  #failed(key: string, error: unknown, hard: AbortSignal, logger: Logger): void {
    const { metrics, isTerminal = isTerminalError } = this.#options;
    if (hard.aborted) {
      logger.info('reconcile abandoned: the program is stopping');
      return;
    }
    if (isConflict(error)) {
      // The cache was behind: the event with the change is on its way, and nothing is wrong.
      this.#count('requeue');
      logger.debug({ retryInMs: this.queue.addRateLimited(key) }, 'object changed meanwhile');
      return;
    }
    this.#count('error');
    metrics.reconcileErrors.inc(this.#labels);
    if (isTerminal(error)) {
      metrics.reconcileTerminalErrors.inc(this.#labels);
      this.queue.forget(key);
      logger.error({ err: error }, 'reconcile failed: no retry until the object changes');
      return;
    }
    const retryInMs = this.queue.addRateLimited(key);
    logger.error({ err: error, retryInMs }, 'reconcile failed');
  }

  #count(result: 'success' | 'requeue_after' | 'requeue' | 'error'): void {
    this.#options.metrics.reconciles.inc({ ...this.#labels, result });
  }
}

function isTerminalError(error: unknown): boolean {
  return error instanceof TerminalError;
}
