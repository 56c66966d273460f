import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { sleep } from '../../service/sleep.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { SyncStore } from '../store/store.ts';
import { Attendance } from './attendance.ts';
import type { Coordination, CoordinatorWork, Share } from './coordination.ts';
import {
  changeWaitsFor,
  isSettled,
  isTimeOfCommitDue,
  type Assembly,
  type StreamPlace,
} from '../store/instances.ts';
import { LeaseLost, type Lease } from './lease.ts';

/** How often to read the others' state: while something waits for them, and while nothing does. */
const waitMs = 25;
const watchMs = 250;

/** What working together needs from the work. */
export interface GroupParts extends RetryContext {
  readonly live: LiveSync;
  readonly store: Pick<SyncStore, 'saveArrival' | 'readInstances'>;
  readonly lease: Lease;
  readonly id: string;
  /** Reads the catalog again: another instance has changed it. */
  readonly reloadCatalog: () => Promise<void>;
  /**
   * Makes sure that nothing another coordinator has started is still running or on its way, and finishes what it left.
   * @param sinceMs - when this instance became the coordinator, by performance.now.
   */
  readonly takeOver: (sinceMs: number) => Promise<void>;
  /** Fixes the time of a commit, once every instance has been given it. */
  readonly fixCommitTime: () => Promise<void>;
  /** Whether limits hold the work of the instances back now. A commit lifts them. */
  readonly areChangesLimited: () => boolean;
  /** Ends the work if the sync is being paused. */
  readonly yieldToPause: () => void;
}

/**
 * One of several instances of a sync. They meet in the state store:
 *
 * - a command is carried out once all have been given it, a phase ends once all have done their part;
 * - changes of the catalog are applied only by the coordinator, each once every instance has applied everything before it in
 *   the change stream, and stored that: a restarted instance continues at that change, so nothing older is written beside it or
 *   after it. The stream has one order for all, that of the resume tokens;
 * - a lease decides which instance is the coordinator. A new one waits for what the previous one has started, and repeats it.
 */
export class Group implements Coordination {
  readonly share: Share;
  readonly #parts: GroupParts;
  readonly #lease: Lease;
  /** The term in which it has taken over from another coordinator. */
  #takenOver: number | undefined;
  /** How many pieces of the coordinator's work are under way. */
  #underWay = 0;

  constructor(parts: GroupParts) {
    this.#parts = parts;
    this.#lease = parts.lease;
    const { instances, isSharedByValue } = parts.live.current;
    const { length: count } = instances;
    this.share = { index: instances.indexOf(parts.id), count, isByValue: isSharedByValue };
  }

  readonly requireLease = (): void => {
    this.#lease.require();
  };

  async asCoordinator({ phase, waitsFor = () => undefined, run }: CoordinatorWork): Promise<void> {
    const mine = { isDone: false };
    await this.#until('coordination', async (assembly) => {
      if (assembly.sync.phase !== phase) return undefined;
      return await this.#coordinate(waitsFor(assembly), async () => {
        await run();
        mine.isDone = true;
      });
    });
    if (!mine.isDone) await this.#retrying(this.#parts.reloadCatalog);
  }

  async meet(place: StreamPlace, apply: () => Promise<void>): Promise<void> {
    const { live, store, reloadCatalog } = this.#parts;
    const mine = { isDone: false };
    await this.#retrying(async () => {
      await store.saveArrival(place.text);
    });
    const isObstacle = (): boolean => !this.#parts.areChangesLimited();
    const step = async (assembly: Assembly): Promise<string | undefined> => {
      const { catalogEvent } = assembly.sync;
      if (isSettled(assembly.sync, place)) return undefined;
      return await this.#coordinate(changeWaitsFor(assembly, place), async () => {
        await apply();
        this.requireLease();
        await this.#retrying(async () => {
          await live.update({ catalogEvent: place.text }, { catalogEvent });
        });
        mine.isDone = true;
      });
    };
    await this.#until('catalog change', step, isObstacle);
    if (!mine.isDone) await this.#retrying(reloadCatalog);
  }

  requireThisTerm(): () => void {
    const { term } = this.#lease;
    const requireTerm = (): void => {
      if (term === undefined || this.#lease.term !== term) throw new LeaseLost();
    };
    requireTerm();
    return requireTerm;
  }

  async watch(signal: AbortSignal): Promise<void> {
    const { live, fixCommitTime, id, monitor } = this.#parts;
    const attendance = new Attendance(id);
    using warning = monitor.retryWarnings.watch('other instances', 'waiting');
    for (;;) {
      await this.#retrying(async () => {
        const missing = attendance.missing(await this.#look());
        if (missing === undefined) warning.clear();
        else warning.set(missing);
        if (this.#lease.isHeld && isTimeOfCommitDue(live.stored))
          await this.#whileCoordinator(fixCommitTime);
      });
      await sleep(watchMs, signal);
    }
  }

  /** Does the coordinator's work if this instance is the coordinator and nothing is waited for. Returns what is waited for. */
  async #coordinate(
    reason: string | undefined,
    run: () => Promise<void>,
  ): Promise<string | undefined> {
    const { live, takeOver } = this.#parts;
    if (reason !== undefined) return reason;
    const { term } = this.#lease;
    if (term === undefined)
      return `the coordinator (${live.coordinator ?? 'none yet'}) has not done its part`;
    const { takenAtMs } = this.#lease;
    await this.#whileCoordinator(async () => {
      if (this.#takenOver !== term) await takeOver(takenAtMs);
      this.#takenOver = term;
      await run();
    });
    return 'this instance, the coordinator, is not done';
  }

  /**
   * Reads the state of all instances repeatedly, until nothing is waited for.
   * @param isObstacle - whether a commit would wait for it as well.
   */
  async #until(
    work: string,
    step: (assembly: Assembly) => Promise<string | undefined>,
    isObstacle: () => boolean = () => true,
  ): Promise<void> {
    const { monitor, signal, yieldToPause } = this.#parts;
    using warning = monitor.retryWarnings.watch(work, 'waiting');
    for (;;) {
      const reason = await step(await this.#retrying(async () => await this.#look()));
      if (reason === undefined) return;
      warning.set(reason, isObstacle());
      yieldToPause();
      await sleep(waitMs, signal);
    }
  }

  /** The stored records of all instances, as they are now. */
  async #look(): Promise<Assembly> {
    const { live, store } = this.#parts;
    await this.#lease.keep({ mayTake: this.#underWay === 0 });
    const [, instances] = await Promise.all([live.refresh(), store.readInstances()]);
    return { sync: live.stored, instances };
  }

  async #retrying<T>(run: () => Promise<T>): Promise<T> {
    return await retrying(this.#parts, 'coordination', run);
  }

  /** Runs work that only the coordinator does: it is left to another instance if that one is the coordinator by now. */
  async #whileCoordinator(run: () => Promise<void>): Promise<void> {
    this.#underWay++;
    try {
      await run();
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
    } finally {
      this.#underWay--;
    }
  }
}
