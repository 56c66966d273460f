import { deploymentOf } from '../../mongo/deployment.ts';
import { namedError } from '../../mongo/named-error.ts';
import { underOnePrimary } from '../../mongo/one-primary.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import type { NamespaceFilter } from '../../mongo/namespace-filter.ts';
import type { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import type { ClusterName, StartOptions } from '../options/start-body.ts';
import { LeftIndexes } from '../destination/left-indexes.ts';
import { TrackedCatalog } from '../store/tracked-catalog.ts';
import { endLeftBuilds } from '../ddl/left-index-builder.ts';
import type { Clusters, Topologies } from '../store/clusters.ts';
import { Alone, type Coordination } from '../instances/coordination.ts';
import { Group } from '../instances/group.ts';
import { fittingCopyWorkers } from '../destination/copy-workers.ts';
import { awaitEarlierWrites } from '../destination/earlier-writes.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { SyncerOptions } from '../options/syncer-options.ts';
import { keepHeartbeat } from './heartbeat.ts';
import { finishCollections } from '../changes/finish-collections.ts';
import { fixCommitTime, runSync } from './run-sync.ts';
import type { InstanceRecord } from '../store/records.ts';
import type { SyncStore } from '../store/store.ts';
import type { SyncContext } from '../context/sync-context.ts';

/** A pause lets what is being applied come to its end for so long. */
const pauseGraceMs = 10_000;

/** What working on a sync needs of its process. */
export interface WorkParts {
  readonly options: SyncerOptions;
  readonly logger: Logger;
  readonly clusters: Clusters;
  readonly topologies: Topologies;
  readonly monitor: SyncMonitor;
  readonly live: LiveSync;
  readonly storeOn: (cluster: ClusterName, signal: AbortSignal) => SyncStore;
  readonly filterOf: (options: StartOptions) => NamespaceFilter;
  /** Aborted when the program stops. */
  readonly signal: AbortSignal;
}

/** Work on a sync, from its creation until the sync is committed, is paused, has failed for good, or the program stops. */
export class SyncWork {
  readonly #parts: WorkParts;
  #own = new AbortController();
  #failed = Promise.withResolvers<never>();
  #context: SyncContext | undefined;
  #isPausing = false;
  #isToldToStop = false;
  /** Resolves, with what has stopped the sync for good where something has, when nothing of the work goes on any more. */
  readonly ended: Promise<SyncError | undefined>;

  constructor(parts: WorkParts) {
    this.#parts = parts;
    this.ended = this.#run();
  }

  /** True while the work is under way: what is stored has been read. */
  get isUnderWay(): boolean {
    return this.#context !== undefined;
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

  /** Ends the work where it is. Resolves when nothing of it goes on any more. */
  async stop(): Promise<void> {
    this.#isPausing = true;
    this.#stopForPause();
    await this.ended;
  }

  /** Makes sure that no other process has taken the sync over. @throws SyncError SupersededByOtherInstance. */
  async requireOwnership(): Promise<void> {
    await this.#context?.store.heartbeat();
  }

  /**
   * Fixes the time of a commit that is stored. What keeps it from that for good ends the work. Several instances have to be
   * given the commit first: their coordinator does it then.
   */
  async fixCommitTime(): Promise<void> {
    const context = this.#context;
    try {
      if (context && !this.#parts.live.isShared) await fixCommitTime(context, this.#parts.live);
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
        // Another instance may have reversed the sync, and this process went on in the old direction until now.
        monitor.forgetSource();
        if (this.#isPausing) break;
      }
      return undefined;
    } catch (error) {
      // What fails because it was told to stop has not failed.
      return this.#isToldToStop || this.#parts.signal.aborted ? undefined : namedError(error);
    }
  }

  /**
   * Works in one direction.
   * @param isFirst - whether this process takes the instance over, from whichever was before it.
   */
  async #work(isFirst: boolean): Promise<void> {
    const { live, monitor } = this.#parts;
    this.#own = new AbortController();
    if (this.#isToldToStop) this.#own.abort();
    this.#failed = Promise.withResolvers<never>();
    this.#failed.promise.catch(() => undefined);
    const { context, instance } = await this.#createContext(isFirst);
    monitor.beginWork({ ...instance, restarts: instance.claims - 1 });
    const begun = retrying(context, 'state', async () => {
      // Before, what is stored of them is of another sync.
      if (live.stored.ownsCatalog) await context.leftIndexes.refresh();
      // Of several instances the coordinator does, when it takes over.
      if (!live.isShared) await endLeftBuilds(context);
      await awaitWritesBefore(context);
      // A command that the process before this one had sent may have come only now.
      if (!live.isShared) await live.refresh();
    }).then(() => {
      this.#context = context;
    });
    const work = async (): Promise<void> => {
      await begun;
      await runSync(context, live, instance, () => this.#isPausing);
    };
    const watch = async (): Promise<void> => {
      await begun;
      await context.coordination.watch(context.signal);
    };
    const parts = [
      work(),
      watch(),
      keepHeartbeat(context, live, this.#parts.topologies).then(
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
      context.destination.writeGuard.right = undefined;
      this.#context = undefined;
    }
  }

  async #createContext(
    isFirst: boolean,
  ): Promise<{ context: SyncContext; instance: InstanceRecord }> {
    const { clusters, filterOf, live, logger, monitor, options, storeOn, topologies } = this.#parts;
    const signal = AbortSignal.any([this.#parts.signal, this.#own.signal]);
    const { options: startOptions } = live.current;
    const store = storeOn(startOptions.destination, signal);
    const working = { signal, logger, monitor };
    const coordination = this.#coordinationOf(working, store, () => context);
    const { requireLease } = coordination;
    // What is read after it is not older: whoever had the instance before changes nothing any more, and the driver takes
    // no primary that is older than the one which acknowledged it.
    const [instance, catalog] = await retrying(working, 'state', async () => {
      if (live.stored.failure?.instance === options.id) await live.update({ failure: null });
      const claimed = await store.claimInstance(isFirst);
      return [claimed, await TrackedCatalog.load(store, requireLease)] as const;
    });
    const destination = clusters[startOptions.destination];
    destination.writeGuard.right = store.claim;
    for (const name of ['cluster0', 'cluster1'] as const)
      clusters[name].formerConnections.takeOver();
    const copyWorkers =
      options.copyWorkers ??
      (await retrying(working, 'copy', async () => {
        return await fittingCopyWorkers(destination, signal);
      }));
    const context: SyncContext = {
      source: deploymentOf(clusters[startOptions.source], topologies[startOptions.source]),
      destination: deploymentOf(destination, topologies[startOptions.destination]),
      store,
      catalog,
      leftIndexes: new LeftIndexes(store.leftIndexes, catalog, monitor),
      coordination,
      requireLease,
      filter: filterOf(startOptions),
      options: startOptions,
      tuning: { ...options, copyWorkers },
      monitor,
      logger,
      warn: async (warning) => {
        logger.warn({ warning }, 'warning');
        await live.addWarning(warning);
      },
      signal,
    };
    return { context, instance };
  }

  #coordinationOf(
    working: RetryContext,
    store: SyncStore,
    contextOf: () => SyncContext,
  ): Coordination {
    const { live, options } = this.#parts;
    if (!live.isShared) return new Alone(store.claim.require);
    return new Group({
      ...working,
      live,
      store,
      id: options.id,
      isPreferred: options.preferCoordinator,
      reloadCatalog: async () => {
        await contextOf().catalog.reload();
      },
      takeOver: async () => {
        const context = contextOf();
        await retrying(context, 'coordination', async () => {
          if (live.stored.ownsCatalog) await context.leftIndexes.refresh();
          await endLeftBuilds(context);
          await awaitWritesBefore(context);
          await context.catalog.reload();
        });
        if (live.current.phase === 'changes') await finishCollections(context);
      },
      fixCommitTime: async () => {
        await fixCommitTime(contextOf(), live);
      },
      yieldToPause: () => {
        if (this.#isPausing) this.#stopForPause();
        working.signal.throwIfAborted();
      },
    });
  }
}

async function awaitWritesBefore(context: SyncContext): Promise<void> {
  await underOnePrimary(context.destination, context.signal, async () => {
    await awaitEarlierWrites(context);
  });
}
