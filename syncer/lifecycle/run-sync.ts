import type { Timestamp } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { withHeapGrowth } from '../../service/heap-growth.ts';
import type { Logger } from '../../service/logger.ts';
import { followChanges } from '../changes/follow-changes.ts';
import { Commit } from '../commit/commit.ts';
import { InitialCopy } from '../copy/initial-copy.ts';
import { CatalogChanges } from '../ddl/apply-catalog-event.ts';
import { CollectionCreator } from '../ddl/create-collections.ts';
import { LeftBuilds } from '../ddl/left-index-builder.ts';
import { replicateForms } from '../ddl/replicate-forms.ts';
import type { Destination } from '../destination/destination.ts';
import { awaitConnectionsOf } from '../destination/earlier-writes.ts';
import type { Coordination } from '../instances/coordination.ts';
import type { WorkPace } from '../limits/pace.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import type { SyncerTuning } from '../options/syncer-options.ts';
import { HandOver } from '../reverse/hand-over.ts';
import type { StreamStart } from '../source/change-reader.ts';
import type { Source } from '../source/source.ts';
import {
  beginningWaitsFor,
  commandWaitsFor,
  commitWaitsFor,
  workWaitsFor,
} from '../store/instances.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { InstanceRecord, Phase, SyncRecord, SyncView } from '../store/records.ts';
import type { SyncStore } from '../store/store.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';

/**
 * How much the heap may grow before garbage is collected, in percent of the live data, while changes are followed: what waits is
 * many small objects, and V8's own choice would let the process take 100 MiB more in a backlog.
 */
const growthPercent = 50;

/** A copy that was held back for no more of its time shows how fast the destination is. */
const maxHeldShare = 0.1;

/** What a process finds once nothing that its predecessor sent can still arrive. */
export interface Begun {
  /** The sync, in the phase that the process enters. */
  readonly entered: SyncView;
  /** Read after that: it belongs to that phase, or to a later one. */
  readonly instance: InstanceRecord;
}

/** What the run of a sync in one direction needs. */
interface RunParts {
  readonly source: Source;
  readonly sourceCluster: ClusterClient;
  readonly destination: Destination;
  readonly catalog: TrackedCatalog;
  readonly store: WorkStore;
  readonly syncStore: SyncStore;
  readonly coordination: Coordination;
  readonly options: StartOptions;
  readonly tuning: SyncerTuning;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly pace: WorkPace;
  readonly signal: AbortSignal;
}

/** The run of a sync in one direction: its phases, and the work of each. */
export class SyncRun {
  readonly #parts: RunParts;
  readonly #creator: CollectionCreator;
  readonly #copy: InitialCopy;
  readonly #catalogChanges: CatalogChanges;
  readonly #leftBuilds: LeftBuilds;
  readonly #commit: Commit;
  readonly #handOver: HandOver;

  constructor(parts: RunParts) {
    const { sourceCluster, destination, catalog, coordination, tuning } = parts;
    const { concurrency, fittingWorkers: workers, partitionMebibytes } = tuning;
    const settings = { concurrency, partitionMebibytes, share: coordination.share };
    this.#parts = parts;
    this.#creator = new CollectionCreator(parts);
    this.#copy = new InitialCopy({ ...parts, settings });
    this.#catalogChanges = new CatalogChanges({ ...parts, settings });
    this.#leftBuilds = new LeftBuilds(destination, catalog, parts);
    const [copy, leftBuilds] = [this.#copy, this.#leftBuilds];
    this.#commit = new Commit({ ...parts, copy, leftBuilds, workers });
    this.#handOver = new HandOver({ ...parts, cluster: sourceCluster });
  }

  /** How the instances of the sync work together. */
  get coordination(): Coordination {
    return this.#parts.coordination;
  }

  /**
   * Ends what an earlier process, or another coordinator, has started on the destination: nothing of it can arrive later.
   * @param isCoordinator - whether this instance coordinates.
   */
  async endEarlierWork({ isCoordinator }: { readonly isCoordinator: boolean }): Promise<void> {
    const { destination, store } = this.#parts;
    // Before that, the stored ones belong to another sync.
    if (store.live.stored.ownsCatalog) await destination.leftIndexes.refresh();
    if (isCoordinator) await this.#leftBuilds.end();
    await destination.settleEarlierWrites();
  }

  /** Takes over from another coordinator. @param sinceMs - when it was the coordinator no more, by performance.now. */
  async takeOver(sinceMs: number): Promise<void> {
    const { catalog, store, syncStore, destination, sourceCluster, options } = this.#parts;
    const { lease } = syncStore;
    await store.step('coordination', async () => {
      const former = { instances: await lease.readFormer(), sinceMs };
      await destination.awaitFormerCoordinators(former);
      // Nothing else writes to a source: its blocking, and the state that a reversal moves there.
      if (options.enableUserWriteBlocking)
        await awaitConnectionsOf(former, this.#parts, sourceCluster);
      await this.endEarlierWork({ isCoordinator: true });
      await lease.forgetFormer(former.instances);
      await catalog.reload();
    });
    if (store.live.current.phase === 'changes') await this.#catalogChanges.finishCollections();
  }

  /** Reads the stored catalog again, in case another instance has changed it. */
  async reloadCatalog(): Promise<void> {
    await this.#parts.catalog.reload();
  }

  /** Fixes the time of a commit, once every instance has been given it: see {@link Commit.fixTime}. */
  async fixCommitTime(signal?: AbortSignal): Promise<void> {
    await this.#commit.fixTime(signal);
  }

  /** Makes sure that no other process has taken the instance over. @throws SyncError SupersededByOtherInstance. */
  async requireOwnership(): Promise<void> {
    await this.#parts.syncStore.heartbeat();
  }

  /**
   * Takes a sync from its stored phase to its end. Resolves when the sync is committed, or its direction has changed; after a
   * crash or a pause at any point it is called again and continues.
   * @param isPausing - true as soon as the sync is being paused: changes then end at the next checkpoint.
   */
  async toEnd({ entered: first, instance }: Begun, isPausing: () => boolean): Promise<void> {
    const { logger, monitor, coordination, store } = this.#parts;
    const { live } = store;
    let { resumeToken, isCopied } = instance;
    monitor.appliedTime = instance.appliedTime ?? first.startTime;
    let former: Phase | undefined;
    for (let isFirst = true; ; isFirst = false) {
      const entered = isFirst ? first : live.current;
      const { state, phase: stored } = entered;
      // Others may have been given the reversal by then. For this instance, its own reversal starts new work.
      const phase = stored === 'handover' && !isFirst ? 'done' : stored;
      logger.info({ phase, state }, 'phase');
      /** Ends the phase, unless another instance has, or the sync has started over. */
      const advance = async (change: Partial<SyncRecord>): Promise<void> => {
        await store.endPhase(entered, change);
      };
      switch (phase) {
        case 'catalog':
          resumeToken = null;
          isCopied = false;
          monitor.appliedTime = null;
          if (live.isShared) await store.saveBegun();
          await coordination.asCoordinator({
            phase,
            waitsFor: beginningWaitsFor,
            run: async () => {
              await this.#ownCatalog();
              await advance({ ...(await this.#prepare()), phase: 'copy' });
            },
          });
          monitor.beginCopy();
          monitor.appliedTime = live.current.startTime;
          break;
        case 'copy':
          if (!isCopied) await this.#copyWithSummary();
          isCopied = true;
          await coordination.asCoordinator({
            phase,
            waitsFor: (assembly) =>
              workWaitsFor(assembly, 'copied its part', (one) => one.isCopied),
            run: async () => {
              const { collectionCount } = live.current;
              await this.#copy.finish(collectionCount, this.#parts.options.buildIndexes);
              await advance({ phase: 'changes' });
            },
          });
          break;
        case 'changes': {
          monitor.beginChanges(former === 'copy');
          if (!live.isShared) {
            if (state === 'COMMITTING') await this.fixCommitTime();
            await this.#catalogChanges.finishCollections();
          }
          await this.#followChanges(streamStart(resumeToken, live.current.startTime), isPausing);
          if (isPausing()) return;
          const commitTime = commitTimeOf(live);
          await coordination.asCoordinator({
            phase,
            waitsFor: (assembly) => commitWaitsFor(assembly, commitTime),
            run: async () => {
              await this.#commit.settle(commitTime);
              await advance({ phase: 'restoring' });
            },
          });
          // The figures are of a cluster that no longer matters.
          monitor.forgetOplog();
          break;
        }
        case 'restoring':
          await coordination.asCoordinator({
            phase,
            run: async () => {
              await this.#commit.restore();
              await store.step('state', async () => {
                await this.#parts.destination.leftIndexes.clear();
              });
              await advance({ state: 'COMMITTED', phase: 'done' });
            },
          });
          break;
        case 'handover':
          await coordination.asCoordinator({
            phase,
            waitsFor: commandWaitsFor,
            run: async () => {
              await this.#handOver.move();
            },
          });
          // The rest works in the other direction.
          return;
        case 'preparing':
          await coordination.asCoordinator({
            phase,
            // An instance that has not found it would look for the state in the old place.
            waitsFor: (assembly) => workWaitsFor(assembly, 'found the state moved', () => true),
            run: async () => {
              await this.#prepareReversed();
              await advance({ phase: 'changes' });
            },
          });
          break;
        case 'done':
          logger.info(
            {
              eventsApplied: monitor.eventsApplied,
              copiedBytes: monitor.copiedBytes,
              restarts: monitor.restarts,
              seconds: Math.round((Date.now() - live.current.startedAt.getTime()) / 1000),
            },
            'committed',
          );
          return;
      }
      former = phase;
    }
  }

  /** Makes sure that the stored catalog belongs to this sync. */
  async #ownCatalog(): Promise<void> {
    const { destination, store } = this.#parts;
    await destination.step('state', async () => {
      if (store.live.current.ownsCatalog) return;
      await this.#creator.forgetAll();
      await store.live.update({ ownsCatalog: true }, { phase: 'catalog' });
    });
  }

  /** Prepares the destination for the copy. Returns what to store of that. */
  async #prepare(): Promise<Partial<SyncRecord>> {
    const { source, destination, monitor, options } = this.#parts;
    monitor.appliedTime = await source.ask('catalog', async () => await source.majorityTime());
    await source.ask('catalog', async () => {
      await source.warnOfQuerySettings();
    });
    await destination.blocking.begin();
    if (options.detectDuplicateIds)
      await source.ask('catalog', async () => {
        await this.#creator.requireNoDuplicateIds();
      });
    const catalog = await destination.step('catalog', async () => await this.#creator.createAll());
    await this.#copy.plan();
    return catalog;
  }

  async #copyWithSummary(): Promise<void> {
    const { destination, catalog, store, logger, monitor, pace } = this.#parts;
    const before = {
      ...{ bytes: monitor.copiedBytes, documents: monitor.copiedDocuments },
      heldSeconds: pace.heldSeconds('copy'),
    };
    const startMs = performance.now();
    await this.#copy.run();
    const copySeconds = (performance.now() - startMs) / 1000;
    const heldSeconds = pace.heldSeconds('copy') - before.heldSeconds;
    // The rate of a copy that was held back says nothing of the destination.
    if (heldSeconds < copySeconds * maxHeldShare)
      destination.leftIndexes.addRate(monitor.copiedBytes - before.bytes, copySeconds);
    await store.completeCopy();
    logger.info(
      {
        collections: catalog.collections().length,
        documents: monitor.copiedDocuments - before.documents,
        bytes: monitor.copiedBytes - before.bytes,
        seconds: Math.round(performance.now() - startMs) / 1000,
      },
      'copied',
    );
  }

  async #followChanges(start: StreamStart, isPausing: () => boolean): Promise<void> {
    const { applyWorkers } = this.#parts.tuning;
    const catalogChanges = this.#catalogChanges;
    await withHeapGrowth(growthPercent, async () => {
      await followChanges({ ...this.#parts, catalogChanges, applyWorkers }, start, { isPausing });
    });
  }

  async #prepareReversed(): Promise<void> {
    const { destination, catalog, store, tuning } = this.#parts;
    await store.step('reverse', async () => {
      await this.#handOver.clearFormerState();
      await destination.blocking.set(true);
    });
    await replicateForms(destination, catalog.collections(), tuning.fittingWorkers);
  }
}

function commitTimeOf({ current: { commitTime } }: LiveSync): Timestamp {
  if (commitTime === null) throw new Error('a commit without its time');
  return commitTime;
}

function streamStart(
  resumeToken: InstanceRecord['resumeToken'],
  startTime: Timestamp | null,
): StreamStart {
  if (resumeToken !== null) return { after: resumeToken.buffer };
  if (startTime === null) throw new Error('a sync that applies changes has no start time');
  return { at: startTime };
}
