import { namedError } from '../../mongo/named-error.ts';
import type { SyncError } from '../../service/errors.ts';
import { logOnce } from '../../service/log-once.ts';
import { blockedText, withBlocked } from '../destination/write-blocking.ts';
import { Reset } from '../reset/carry-out-reset.ts';
import { SyncWork, type WorkParts } from './sync-work.ts';

/**
 * What a process does for its sync: one piece of work after the other, each until a pause, an end or a failure; and a reset.
 */
export class SyncWorker {
  readonly #parts: WorkParts;
  #work: SyncWork | undefined;
  #ended = Promise.resolve();
  #failure: SyncError | undefined;
  #isResetting = false;
  #hasReset = false;

  constructor(parts: WorkParts) {
    this.#parts = parts;
  }

  /** The work that is under way, or the last one. */
  get work(): SyncWork | undefined {
    return this.#work;
  }

  /** True while the sync is worked on and its stored state has been read. */
  get isWorking(): boolean {
    return this.#work?.isUnderWay ?? false;
  }

  /** Why the sync has stopped, if so. */
  get failure(): SyncError | undefined {
    return this.#failure;
  }

  /** True when nothing of the sync is stored any more. */
  get hasReset(): boolean {
    return this.#hasReset;
  }

  /** Resolves when nothing works on the sync, and any failure is known. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Waits until nothing works on the sync. @throws SyncError if the work has failed. */
  async untilEnded(): Promise<void> {
    await this.#ended;
    if (this.#failure) throw this.#failure;
  }

  /** Starts to work on the sync. */
  begin(): void {
    const work = new SyncWork(this.#parts);
    this.#work = work;
    this.#failure = undefined;
    this.#ended = work.ended.then(async (failure) => {
      if (failure) await this.#fail(failure);
    });
  }

  /** Ends the work, then the sync for good, unless that is already under way. */
  beginReset(): void {
    if (this.#isResetting) return;
    this.#isResetting = true;
    this.#failure = undefined;
    const { live, pair, monitor, options, logger } = this.#parts;
    const [work, ended] = [this.#work, this.#ended];
    const reset = async (): Promise<void> => {
      await work?.stop();
      await ended;
      this.#work = undefined;
      this.#failure = undefined;
      await new Reset(live, pair, monitor, logger, options.preferCoordinator).carryOut();
      this.#hasReset = true;
      monitor.forget();
    };
    this.#ended = reset()
      .catch((error: unknown) => {
        if (pair.signal.aborted) return;
        this.#failure = namedError(error);
        monitor.addError(error);
        logger.error({ error: this.#failure.name, err: error }, 'the reset has stopped');
      })
      .finally(() => {
        this.#isResetting = false;
      });
  }

  async #fail(error: SyncError): Promise<void> {
    const { live, pair, monitor, logger } = this.#parts;
    const { name } = error;
    const blocked = blockedText(live.current);
    monitor.addError(error);
    const failure = withBlocked(error, blocked);
    this.#failure = failure;
    logOnce(logger, failure, { error: name, err: error, blocked }, 'the sync has stopped');
    if (name === 'SupersededByOtherInstance') return;
    const { instanceId: instance } = pair;
    const { message: description } = failure;
    await live
      .update({ failure: { instance, name, description, at: new Date() } })
      .catch((storeError: unknown) => {
        logger.warn({ err: storeError }, 'the failure could not be stored');
      });
  }
}
