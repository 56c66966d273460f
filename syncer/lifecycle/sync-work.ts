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
import type { LiveSync } from '../store/live-sync.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { SyncerOptions } from '../options/syncer-options.ts';
import { keepHeartbeat } from './heartbeat.ts';
import { SyncRun } from './run-sync.ts';
import { Source } from '../source/source.ts';
import { WorkStore } from '../store/work-store.ts';
import type { InstanceRecord } from '../store/records.ts';
import type { SyncStore } from '../store/store.ts';

/** A pause lets what is being applied come to its end for so long. */
const pauseGraceMs = 10_000;

/** What is made for the work in one direction. */
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
  readonly options: SyncerOptions;
  readonly logger: Logger;
}

/** Work on a sync, from its creation until the sync is committed, is paused, has failed for good, or the program stops. */
export class SyncWork {
  readonly #parts: WorkParts;
  #own = new AbortController();
  #failed = Promise.withResolvers<never>();
  /** Undefined while it is not under way. */
  #current: SyncRun | undefined;
  #isPausing = false;
  #isToldToStop = false;
  /** Resolves, with what has stopped the sync for good where something has, when nothing of the work is running any more. */
  readonly ended: Promise<SyncError | undefined>;

  /** Begins the work. */
  constructor(parts: WorkParts) {
    this.#parts = parts;
    this.ended = this.#run();
  }

  /** True while the work is under way: what is stored has been read. */
  get isUnderWay(): boolean {
    return this.#current !== undefined;
  }

  /**
   * Stops the work: changes at a checkpoint that covers all that was applied, anything else where it is. Gives what has
   * stopped it for good, where that came first.
   */
  async pause(): Promise<SyncError | undefined> {
    this.#isPausing = true;
    if (this.#parts.live.current.phase !== 'changes' || !this.isUnderWay) this.#stopForPause();
    const timer = setTimeout(() => {
      this.#stopForPause();
    }, pauseGraceMs);
    try {
      return await this.ended;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the work where it is. Resolves when nothing of it is running any more. */
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
   * Fixes the time of a commit that is stored. What keeps it from that for good ends the work. Several instances have to be
   * given the commit first: their coordinator does it then.
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
        // Another instance may have reversed the sync, and this process worked in the old direction until now.
        monitor.forgetSource();
        if (this.#isPausing) break;
      }
      return undefined;
    } catch (error) {
      // What fails because it was told to stop has not failed.
      return this.#isToldToStop || this.#parts.pair.signal.aborted ? undefined : namedError(error);
    }
  }

  /**
   * Works in one direction.
   * @param isFirst - whether this process takes the instance over, from whichever was before it.
   */
  async #work(isFirst: boolean): Promise<void> {
    const { live, pair, monitor, logger } = this.#parts;
    this.#own = new AbortController();
    if (this.#isToldToStop) this.#own.abort();
    this.#failed = Promise.withResolvers<never>();
    this.#failed.promise.catch(() => undefined);
    const made = await this.#make(isFirst);
    const { run, store, instance, signal } = made;
    monitor.beginWork({ ...instance, restarts: instance.claims - 1 });
    const begun = store
      .step('state', async () => {
        // Of several instances the coordinator does, when it takes over.
        await run.endEarlierWork({ isCoordinator: !live.isShared });
        // A command that the process before this one had sent may have come only now.
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
      keepHeartbeat({ ...made, live, pair, monitor, logger }).then(
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

  /** Makes what the work needs, when this process has claimed its instance. */
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
    for (const name of ['cluster0', 'cluster1'] as const)
      pair.clients[name].formerConnections.takeOver();
    const sourceCluster = pair.deployment(options.source);
    const store = new WorkStore({ ...working, store: syncStore, live, catalog, requireLease });
    const warn = async (warning: string): Promise<void> => {
      await store.warn(warning);
    };
    const filter = pair.filterOf(options);
    const source = new Source({
      ...{ ...working, options, filter, catalog, warn },
      deployment: sourceCluster,
    });
    const leftIndexes = new LeftIndexes(syncStore.leftIndexes, catalog, monitor);
    const destination = new Destination({
      ...{ ...working, options, leftIndexes, requireLease, warn },
      deployment: destinationCluster,
    });
    const tuning = { ...this.#parts.options, copyWorkers: await this.#copyWorkers(destination) };
    const run: SyncRun = new SyncRun({
      ...{ ...working, source, sourceCluster, destination, catalog, store, syncStore },
      ...{ coordination, options, tuning },
    });
    return { run, source, destination, destinationCluster, store, syncStore, instance, signal };
  }

  /**
   * Claims the instance. What is read after it is not older: the process that had the instance before changes nothing any more, and the driver
   * takes no primary that is older than the one which acknowledged it.
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

  /** How many collections and partitions are copied side by side: what is asked for, or what fits the destination. */
  async #copyWorkers(destination: Destination): Promise<number> {
    return this.#parts.options.copyWorkers ?? (await destination.fittingCopyWorkers());
  }

  #coordinationOf(working: RetryContext, store: SyncStore, runOf: () => SyncRun): Coordination {
    const { live, options } = this.#parts;
    if (!live.isShared) return new Alone(store.ownership.require);
    return new Group({
      ...working,
      live,
      store,
      id: options.id,
      isPreferred: options.preferCoordinator,
      reloadCatalog: async () => {
        await runOf().reloadCatalog();
      },
      takeOver: async () => {
        await runOf().takeOver();
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
