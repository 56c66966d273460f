import { namedError } from '../../mongo/named-error.ts';
import { retrying } from '../../mongo/retrying.ts';
import type { SyncError } from '../../service/errors.ts';
import { logOnce } from '../../service/log-once.ts';
import { awaitEarlierConnections } from '../destination/earlier-writes.ts';
import { blockedText, withBlocked } from '../destination/write-blocking.ts';
import { Reset } from '../reset/carry-out-reset.ts';
import { HeldInstance } from '../store/held-instance.ts';
import { restartsOf } from '../store/records.ts';
import { keepHeartbeat } from './heartbeat.ts';
import { makeWork, type WorkParts } from './make-work.ts';
import type { SyncRun } from './run-sync.ts';

/** How long a pause waits for running changes to end. */
const pauseGraceMs = 10_000;

/** Runs something while no command is carried out. */
type InTurn = (look: () => Promise<void>) => Promise<void>;

/**
 * What a process does for its sync: one piece of work after the other, each until a pause, an end or a failure; and a reset.
 */
export class SyncWorker {
  readonly #parts: WorkParts;
  readonly #held = new HeldInstance();
  #work: SyncWork | undefined;
  #ended = Promise.resolve();
  #failure: SyncError | undefined;
  #isResetting = false;
  #hasReset = false;
  /** Aborted once something works on the sync. */
  readonly #hasBegun = new AbortController();
  #placing = Promise.resolve();

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

  /** True when nothing of the sync is stored. */
  get hasReset(): boolean {
    return this.#hasReset;
  }

  /** Resolves when nothing works on the sync, and any failure is known. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Resolves when this process does nothing more for the sync, after the signal to stop. */
  get stopped(): Promise<void> {
    return Promise.all([this.#ended, this.#placing]).then(() => undefined);
  }

  /** Waits until nothing works on the sync. @throws SyncError if the work has failed. */
  async untilEnded(): Promise<void> {
    await this.#ended;
    if (this.#failure) throw this.#failure;
  }

  /** Starts to work on the sync. */
  begin(): void {
    this.#hasBegun.abort(new Error('the work on the sync has begun'));
    const work = new SyncWork(this.#parts, this.#held);
    this.#work = work;
    this.#failure = undefined;
    this.#ended = work.ended.then(async (failure) => {
      if (failure) await this.#fail(failure);
      // The work may have found only now that the previous process stored a reset.
      if (this.#isToldToReset && !this.#parts.pair.signal.aborted) this.beginReset();
    });
  }

  /**
   * Continues what an earlier process has left: its reset, or its work. If there is neither, and a command can be accepted, it takes
   * the place of that process.
   */
  continue(inTurn: InTurn): void {
    const { live } = this.#parts;
    if (this.#continueWork()) return;
    if (live.record?.state === 'PAUSED' || live.record?.options.reversible === true)
      this.#placing = this.#takePlace(inTurn);
  }

  /** Ends the work, then the sync for good, unless that is already under way. */
  beginReset(): void {
    if (this.#isResetting) return;
    this.#hasBegun.abort(new Error('the reset has begun'));
    this.#isResetting = true;
    this.#failure = undefined;
    const { live, pair, monitor, options, logger } = this.#parts;
    const [work, ended] = [this.#work, this.#ended];
    const reset = async (): Promise<void> => {
      await work?.stop();
      await ended;
      this.#held.forget();
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

  /** Writes to the state of the sync, unless another process has superseded this one. */
  async write(write: () => Promise<void>): Promise<void> {
    const { live, pair } = this.#parts;
    const { name } = live.stored.destination;
    const { writeGuard } = pair.clients[name];
    await this.#held.write(writeGuard, () => pair.storeOn(name), write);
  }

  get #isToldToReset(): boolean {
    const { live, pair } = this.#parts;
    return live.stored.reset?.received.includes(pair.instanceId) === true;
  }

  /** @returns false if there is nothing to do. */
  #continueWork(): boolean {
    const { record } = this.#parts.live;
    if (this.#isToldToReset) this.beginReset();
    else if (record?.state === 'RUNNING' || record?.state === 'COMMITTING') this.begin();
    else return false;
    return true;
  }

  /**
   * Takes the place of the process before, though there is nothing to work on: a command which that one has in hand can no longer be
   * stored. What it has stored until then is carried out here. Without the right to write, as after a commit, the place is left to
   * the first command.
   */
  async #takePlace(inTurn: InTurn): Promise<void> {
    const { live, pair, monitor, logger } = this.#parts;
    const { name } = live.stored.destination;
    const { reversals } = live.stored;
    const signal = AbortSignal.any([pair.signal, this.#hasBegun.signal]);
    const context = { signal, logger, monitor };
    const cluster = pair.clients[name];
    try {
      await retrying(context, 'state', async () => {
        await this.#held.takePlace(pair.storeOn(name), cluster.writeGuard);
      });
    } catch (error) {
      if (!signal.aborted)
        logger.warn({ err: error }, 'the place of an earlier process was not taken');
      return;
    }
    pair.takeOver();
    const look = async (): Promise<void> => {
      signal.throwIfAborted();
      await live.refresh();
      // It was claimed where the state was before.
      if (live.stored.reversals !== reversals) this.#held.forget();
      this.#continueWork();
    };
    try {
      await retrying(context, 'state', async () => {
        await awaitEarlierConnections(context, cluster);
        await inTurn(look);
      });
    } catch (error) {
      if (!signal.aborted) await this.#fail(namedError(error));
    }
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
    await this.write(async () => {
      await live.update({ failure: { instance, name, description, at: new Date() } });
    }).catch((storeError: unknown) => {
      logger.warn({ err: storeError }, 'the failure could not be stored');
    });
  }
}

/** Work on a sync, from its creation until the sync is committed, is paused, has failed for good, or the program stops. */
export class SyncWork {
  readonly #parts: WorkParts;
  readonly #held: HeldInstance;
  #own = new AbortController();
  #failed = Promise.withResolvers<never>();
  /** Undefined while no run is under way. */
  #current: SyncRun | undefined;
  #isPausing = false;
  #isToldToStop = false;
  /** Resolves when all of the work has stopped, with the error that has stopped the sync for good, if any. */
  readonly ended: Promise<SyncError | undefined>;

  /** Starts the work. */
  constructor(parts: WorkParts, held: HeldInstance) {
    this.#parts = parts;
    this.#held = held;
    this.ended = this.#run();
  }

  /** True while the work is under way and the stored state has been read. */
  get isUnderWay(): boolean {
    return this.#current !== undefined;
  }

  /**
   * Stops the work: changes at a checkpoint that covers everything applied, anything else immediately. Returns the error that has
   * stopped it for good, if that came first.
   */
  async pause(): Promise<SyncError | undefined> {
    this.#isPausing = true;
    const { live, pace } = this.#parts;
    // What is held back would not be applied in time: the resume applies it.
    if (live.current.phase !== 'changes' || !this.isUnderWay || pace.isHoldingChanges)
      this.#stopForPause();
    const timer = setTimeout(() => {
      this.#stopForPause();
    }, pauseGraceMs);
    try {
      return await this.ended;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Stops the work immediately. Resolves when all of it has stopped. */
  async stop(): Promise<void> {
    this.#isPausing = true;
    this.#stopForPause();
    await this.ended;
  }

  /** Makes sure that no other process has taken the sync over. @throws SyncError SupersededByOtherInstance. */
  async requireOwnership(): Promise<void> {
    await this.#current?.requireOwnership();
  }

  /**
   * Fixes the time of a stored commit. A permanent error ends the work. Several instances must all be given the commit first:
   * then their coordinator fixes it.
   */
  async fixCommitTime(): Promise<void> {
    try {
      if (!this.#parts.live.isShared) await this.#current?.fixCommitTime();
    } catch (error) {
      this.#failed.reject(error);
      throw (await this.ended) ?? namedError(error);
    }
  }

  #stopForPause(): void {
    this.#isToldToStop = true;
    this.#own.abort(new Error('the sync is being paused'));
  }

  async #run(): Promise<SyncError | undefined> {
    const { live, monitor } = this.#parts;
    try {
      for (;;) {
        const { reversals } = live.stored;
        await this.#work().finally(() => {
          this.#held.endWork();
        });
        if (live.stored.reversals === reversals) break;
        // Another instance may have reversed the sync while this process still worked in the old direction.
        monitor.forgetSource();
        if (this.#isPausing) break;
      }
      return undefined;
    } catch (error) {
      // Work that fails because it received a signal to stop has not failed.
      return this.#isToldToStop || this.#parts.pair.signal.aborted ? undefined : namedError(error);
    }
  }

  /** Works in one direction. */
  async #work(): Promise<void> {
    const { live, pair, monitor, logger, pace } = this.#parts;
    this.#own = new AbortController();
    if (this.#isToldToStop) this.#own.abort();
    this.#failed = Promise.withResolvers<never>();
    this.#failed.promise.catch(() => undefined);
    const { reversals } = live.stored;
    const made = await makeWork(this.#parts, {
      ...{ held: this.#held, stop: this.#own.signal },
      yieldToPause: () => {
        if (this.#isPausing) this.#stopForPause();
      },
    });
    const { run, store, syncStore, instance, signal } = made;
    monitor.beginWork({ ...instance, restarts: restartsOf(instance) });
    const begun = store
      .step('state', async () => {
        // With several instances, the coordinator does this when it takes over.
        await run.endEarlierWork({ isCoordinator: !live.isShared });
        // A command that the previous process sent may have arrived only now.
        await live.refresh();
        const entered = live.current;
        // Read last: the coordinator may have begun the sync again since the claim, but not since this.
        return { entered, instance: (await syncStore.readInstance()) ?? instance };
      })
      .then((found) => {
        this.#current = run;
        return found;
      });
    const work = async (): Promise<void> => {
      const found = await begun;
      // It has been reversed: the work is in the other direction.
      if (found.entered.reversals !== reversals) return;
      // Stored meanwhile: by the previous process, or by an attempt of this one whose answer was lost.
      if (found.entered.state === 'PAUSED' || live.resetUnderWay) return;
      monitor.beginWork({ ...found.instance, restarts: restartsOf(instance) });
      await run.toEnd(found, () => this.#isPausing);
    };
    const watch = async (): Promise<void> => {
      await begun;
      await run.coordination.watch(signal);
    };
    const parts = [
      work(),
      watch(),
      keepHeartbeat({ ...made, live, pair, monitor, logger, pace }).then(
        async () => await this.#failed.promise,
      ),
      this.#failed.promise,
    ];
    try {
      await Promise.race(parts);
    } finally {
      const reason = new Error('the work on the sync has ended');
      this.#own.abort(reason);
      this.#failed.reject(reason);
      await Promise.allSettled(parts);
      this.#current = undefined;
    }
  }
}
