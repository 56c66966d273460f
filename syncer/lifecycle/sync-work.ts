import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { namedError } from '../../mongo/named-error.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import type { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { LeftIndexes } from '../destination/left-indexes.ts';
import { TrackedCatalog } from '../store/tracked-catalog.ts';
import { Destination } from '../destination/destination.ts';
import type { ClusterPair } from '../store/clusters.ts';
import { Alone, type Coordination } from '../instances/coordination.ts';
import { Group } from '../instances/group.ts';
import { Lease } from '../instances/lease.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { Pace } from '../limits/pace.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { fittingConcurrency, requestedConcurrency } from '../options/copy-concurrency.ts';
import type { SyncerOptions } from '../options/syncer-options.ts';
import { keepHeartbeat } from './heartbeat.ts';
import { SyncRun } from './run-sync.ts';
import { Source } from '../source/source.ts';
import { WorkStore } from '../store/work-store.ts';
import type { InstanceRecord } from '../store/records.ts';
import type { SyncStore } from '../store/store.ts';

/** How long a pause waits for running changes to end. */
const pauseGraceMs = 10_000;

/** The objects for the work in one direction. */
interface MadeWork {
  readonly run: SyncRun;
  readonly source: Source;
  readonly destination: Destination;
  readonly destinationCluster: ClusterClient;
  readonly store: WorkStore;
  readonly syncStore: SyncStore;
  readonly instance: InstanceRecord;
  readonly signal: AbortSignal;
}

/** What work on a sync needs. */
export interface WorkParts {
  readonly live: LiveSync;
  readonly pair: ClusterPair;
  readonly monitor: SyncMonitor;
  readonly pace: Pace;
  readonly options: SyncerOptions;
  readonly logger: Logger;
}

/** Work on a sync, from its creation until the sync is committed, is paused, has failed for good, or the program stops. */
export class SyncWork {
  readonly #parts: WorkParts;
  #own = new AbortController();
  #failed = Promise.withResolvers<never>();
  /** Undefined while no run is under way. */
  #current: SyncRun | undefined;
  #isPausing = false;
  #isToldToStop = false;
  /** Resolves when all of the work has stopped, with the error that has stopped the sync for good, if any. */
  readonly ended: Promise<SyncError | undefined>;

  /** Starts the work. */
  constructor(parts: WorkParts) {
    this.#parts = parts;
    this.ended = this.#run();
  }

  /** True while the work is under way and the stored state has been read. */
  get isUnderWay(): boolean {
    return this.#current !== undefined;
  }

  /**
   * Stops the work: changes at a checkpoint that covers everything applied, anything else at once. Returns the error that has
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

  /** Stops the work at once. Resolves when all of it has stopped. */
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
      for (let isFirst = true; ; isFirst = false) {
        const { reversals } = live.stored;
        await this.#work(isFirst);
        if (live.stored.reversals === reversals) break;
        // Another instance may have reversed the sync while this process still worked in the old direction.
        monitor.forgetSource();
        if (this.#isPausing) break;
      }
      return undefined;
    } catch (error) {
      // Work that fails because it was told to stop has not failed.
      return this.#isToldToStop || this.#parts.pair.signal.aborted ? undefined : namedError(error);
    }
  }

  /**
   * Works in one direction.
   * @param isFirst - whether this process takes the instance over from the one before it.
   */
  async #work(isFirst: boolean): Promise<void> {
    const { live, pair, monitor, logger, pace } = this.#parts;
    this.#own = new AbortController();
    if (this.#isToldToStop) this.#own.abort();
    this.#failed = Promise.withResolvers<never>();
    this.#failed.promise.catch(() => undefined);
    const made = await this.#make(isFirst);
    const { run, store, instance, signal } = made;
    monitor.beginWork({ ...instance, restarts: instance.claims - 1 });
    const begun = store
      .step('state', async () => {
        // With several instances, the coordinator does this when it takes over.
        await run.endEarlierWork({ isCoordinator: !live.isShared });
        // A command that the previous process sent may have arrived only now.
        if (!live.isShared) await live.refresh();
      })
      .then(() => {
        this.#current = run;
      });
    const work = async (): Promise<void> => {
      await begun;
      await run.toEnd(instance, () => this.#isPausing);
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
      made.destinationCluster.writeGuard.right = undefined;
      this.#current = undefined;
    }
  }

  /** Makes the objects for the work, once this process has claimed its instance. */
  async #make(isFirst: boolean): Promise<MadeWork> {
    const { live, pair, monitor, logger } = this.#parts;
    const signal = AbortSignal.any([pair.signal, this.#own.signal]);
    const { options } = live.current;
    const syncStore = pair.storeOn(options.destination, signal);
    const working = { signal, logger, monitor };
    const coordination = this.#coordinationOf(working, syncStore, () => run);
    const { requireLease } = coordination;
    const [instance, catalog] = await this.#claim(working, syncStore, requireLease, isFirst);
    const destinationCluster = pair.deployment(options.destination);
    destinationCluster.writeGuard.right = syncStore.ownership;
    pair.takeOver();
    const sourceCluster = pair.deployment(options.source);
    const store = new WorkStore({ ...working, store: syncStore, live, catalog, requireLease });
    const warn = async (warning: string): Promise<void> => {
      await store.warn(warning);
    };
    const filter = pair.filterOf(options);
    const source = new Source({
      ...{ ...working, options, filter, catalog, warn },
      deployment: sourceCluster,
      version: pair.topologies[options.source].version,
      destinationVersion: pair.topologies[options.destination].version,
    });
    const leftIndexes = new LeftIndexes(syncStore.leftIndexes, catalog, monitor);
    const destination = new Destination({
      ...{ ...working, options, leftIndexes, requireLease, warn },
      deployment: destinationCluster,
    });
    const { copyWorkers, ...others } = this.#parts.options;
    const concurrency =
      copyWorkers === undefined
        ? fittingConcurrency(await destination.fittingCopyWorkers())
        : requestedConcurrency(copyWorkers);
    const tuning = { ...others, concurrency };
    const run: SyncRun = new SyncRun({
      ...{ ...working, source, sourceCluster, destination, catalog, store, syncStore },
      ...{ coordination, options, tuning, pace: this.#parts.pace.within(signal) },
    });
    return { run, source, destination, destinationCluster, store, syncStore, instance, signal };
  }

  /**
   * Claims the instance. Nothing that is read afterwards is older: the process that had the instance before can change nothing
   * more, and the driver accepts no primary older than the one which acknowledged the claim.
   */
  async #claim(
    working: RetryContext,
    store: SyncStore,
    requireLease: () => void,
    isFirst: boolean,
  ): Promise<readonly [InstanceRecord, TrackedCatalog]> {
    const { live, options } = this.#parts;
    return await retrying(working, 'state', async () => {
      if (live.stored.failure?.instance === options.id) await live.update({ failure: null });
      const claimed = await store.takeOwnership(isFirst);
      return [claimed, await TrackedCatalog.load(store, requireLease)] as const;
    });
  }

  #coordinationOf(working: RetryContext, store: SyncStore, runOf: () => SyncRun): Coordination {
    const { live, options } = this.#parts;
    if (!live.isShared) return new Alone(store.ownership.require);
    return new Group({
      ...working,
      live,
      store,
      lease: new Lease(store.lease, options.preferCoordinator),
      id: options.id,
      reloadCatalog: async () => {
        await runOf().reloadCatalog();
      },
      takeOver: async (sinceMs) => {
        await runOf().takeOver(sinceMs);
      },
      fixCommitTime: async () => {
        await runOf().fixCommitTime();
      },
      yieldToPause: () => {
        if (this.#isPausing) this.#stopForPause();
        working.signal.throwIfAborted();
      },
    });
  }
}
