import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { readVersion } from '../../mongo/topology.ts';
import type { Logger } from '../../service/logger.ts';
import { Destination } from '../destination/destination.ts';
import { LeftIndexes } from '../destination/left-indexes.ts';
import { Alone, type Coordination } from '../instances/coordination.ts';
import { Group } from '../instances/group.ts';
import { Lease } from '../instances/lease.ts';
import type { Pace } from '../limits/pace.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { ClusterName } from '../options/command-bodies.ts';
import { fittedConcurrency } from '../options/copy-concurrency.ts';
import type { SyncerOptions } from '../options/syncer-options.ts';
import { Source } from '../source/source.ts';
import type { ClusterPair } from '../store/clusters.ts';
import type { HeldInstance } from '../store/held-instance.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { InstanceRecord } from '../store/records.ts';
import type { SyncStore } from '../store/store.ts';
import { TrackedCatalog } from '../store/tracked-catalog.ts';
import { WorkStore } from '../store/work-store.ts';
import { SyncRun } from './run-sync.ts';

/** How long work waits for the version of a server before it begins. */
const versionDeadlineMs = 2_000;

/** What work on a sync needs. */
export interface WorkParts {
  readonly live: LiveSync;
  readonly pair: ClusterPair;
  readonly monitor: SyncMonitor;
  readonly pace: Pace;
  readonly options: SyncerOptions;
  readonly logger: Logger;
}

/** What distinguishes the work in one direction from other work on the sync. */
export interface WorkTerms {
  readonly held: HeldInstance;
  /** Aborted when the work is to stop. */
  readonly stop: AbortSignal;
  /** Stops the work if a pause waits for it. */
  readonly yieldToPause: () => void;
}

/** The objects for the work in one direction. */
export interface MadeWork {
  readonly run: SyncRun;
  readonly source: Source;
  readonly destination: Destination;
  readonly store: WorkStore;
  readonly syncStore: SyncStore;
  readonly instance: InstanceRecord;
  readonly signal: AbortSignal;
}

/** Makes the objects for the work, once this process has claimed its instance. */
export async function makeWork(parts: WorkParts, terms: WorkTerms): Promise<MadeWork> {
  const { live, pair, monitor, logger } = parts;
  const signal = AbortSignal.any([pair.signal, terms.stop]);
  const { options } = live.current;
  const syncStore = pair.storeOn(options.destination, signal);
  const working = { signal, logger, monitor };
  const coordination = coordinationOf(parts, terms, working, syncStore, () => run);
  const { requireLease } = coordination;
  const [instance, catalog] = await claim(parts, terms, working, syncStore, requireLease);
  pair.takeOver();
  const sourceCluster = pair.deployment(options.source);
  const store = new WorkStore({ ...working, store: syncStore, live, catalog, requireLease });
  const warn = async (warning: string): Promise<void> => {
    await store.warn(warning);
  };
  const filter = pair.filterOf(options);
  // Servers may have been upgraded since the process started. One that does not answer has not been.
  const versionOf = async (name: ClusterName): Promise<string> => {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(versionDeadlineMs)]);
    return await readVersion(pair.clients[name], soon).catch(() => {
      signal.throwIfAborted();
      return pair.topologies[name].version;
    });
  };
  const source = new Source({
    ...{ ...working, options, filter, catalog, warn },
    deployment: sourceCluster,
    version: await versionOf(options.source),
    destinationVersion: await versionOf(options.destination),
  });
  const leftIndexes = new LeftIndexes(syncStore.leftIndexes, catalog, monitor);
  const destination = new Destination({
    ...{ ...working, options, leftIndexes, requireLease, warn },
    deployment: pair.deployment(options.destination),
  });
  const { copyWorkers, ...others } = parts.options;
  const fitted = fittedConcurrency(copyWorkers, await destination.fittingCopyWorkers());
  const tuning = { ...others, ...fitted };
  const run: SyncRun = new SyncRun({
    ...{ ...working, source, sourceCluster, destination, catalog, store, syncStore },
    ...{ coordination, options, tuning, pace: parts.pace.within(signal) },
  });
  return { run, source, destination, store, syncStore, instance, signal };
}

/**
 * Claims the instance. Nothing that is read afterwards is older: the process that had the instance before can change nothing
 * more, and the driver accepts no primary older than the one which acknowledged the claim.
 */
async function claim(
  { live, options, pair }: WorkParts,
  { held }: WorkTerms,
  working: RetryContext,
  store: SyncStore,
  requireLease: () => void,
): Promise<readonly [InstanceRecord, TrackedCatalog]> {
  const { writeGuard } = pair.clients[live.current.options.destination];
  return await retrying(working, 'state', async () => {
    const claimed = await held.claim(store, writeGuard);
    if (live.stored.failure?.instance === options.id) await live.update({ failure: null });
    return [claimed, await TrackedCatalog.load(store, requireLease)] as const;
  });
}

function coordinationOf(
  { live, options, pace }: WorkParts,
  { yieldToPause }: WorkTerms,
  working: RetryContext,
  store: SyncStore,
  runOf: () => SyncRun,
): Coordination {
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
    areChangesLimited: () => pace.areChangesLimited,
    yieldToPause: () => {
      yieldToPause();
      working.signal.throwIfAborted();
    },
  });
}
