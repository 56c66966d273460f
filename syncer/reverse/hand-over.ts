import type { Timestamp } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import type { WriteRight } from '../../mongo/write-guard.ts';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { awaitEarlierConnections } from '../destination/earlier-writes.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { SyncRecord, TrackedCollection, TrackedView } from '../store/records.ts';
import type { SyncStore } from '../store/store.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';

/** The stored state of a sync that its reversal changes. */
export interface ReversedState {
  readonly record: SyncRecord;
  readonly collections: readonly TrackedCollection[];
  readonly views: readonly TrackedView[];
}

/**
 * The state of a committed sync after its direction was reversed.
 *
 * The invariant: _at the cluster time `writableTime` of the old destination, the selected namespaces of both clusters were the
 * same, and everything that users wrote to the old destination came later._ It holds because that time is taken when
 *
 * - every change of the old source is applied up to the commit's time, acknowledged by a majority, and that cluster's users
 *   have been blocked since before that time (reversible needs write blocking): nothing more is written there, not even by
 *   its TTL monitor, which a blocked server leaves idle (seen on 6.0.5);
 * - the old destination has not been unblocked yet. It is taken once: if a commit is repeated after a crash, it stays.
 *
 * So the change events of the old destination from that time on, applied in sequence to the old source, carry back everything that
 * users wrote, and no more. Among them are those of the commit's own steps, which give collections their true characteristics:
 * they change the tracked specifications to what these already are. They keep their place between the changes of users, so if a
 * user and the commit changed the same index, the last change counts, as it did there.
 *
 * On the old destination all specifications count as known up to that time. Each collection has, on the other cluster, the name
 * that it had at that time, and its two UUIDs change places.
 *
 * @throws Error if the sync is not one that can be reversed.
 */
export function reversedState(
  record: SyncRecord,
  collections: readonly TrackedCollection[],
  views: readonly TrackedView[],
): ReversedState {
  const { writableTime, options, source, destination } = record;
  if (writableTime === null) throw new Error('a sync is reversed that was not committed');
  return {
    record: {
      ...record,
      state: 'RUNNING',
      phase: 'preparing',
      reversals: record.reversals + 1,
      options: { ...options, source: options.destination, destination: options.source },
      source: destination,
      destination: source,
      startTime: writableTime,
      writableTime: null,
      commitTime: null,
      isFixingCommitTime: false,
      canWrite: false,
      catalogTimes: [],
      catalogEvent: null,
      estimatedTotalBytes: 0,
    },
    collections: collections.map((collection) => reversedCollection(collection, writableTime)),
    views: views.map((view) => ({
      ...view,
      specifiedAt: writableTime,
      specifiedBy: writableTime,
    })),
  };
}

function reversedCollection(collection: TrackedCollection, time: Timestamp): TrackedCollection {
  const { uuid, destinationUuid } = collection;
  if (destinationUuid === null) throw new Error('a committed collection is not on the destination');
  return {
    ...collection,
    uuid: destinationUuid,
    destinationUuid: uuid,
    namedAt: time,
    namedBy: time,
    replacedUuid: null,
    specifiedAt: time,
  };
}

/** What moving the state of a sync needs. */
interface HandOverParts {
  /** The source: it becomes the destination once the state is there. */
  readonly cluster: ClusterClient;
  readonly catalog: TrackedCatalog;
  readonly store: WorkStore;
  /** Where the state is now. */
  readonly syncStore: SyncStore;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Moves the state of a sync that is being reversed to the other cluster. */
export class HandOver {
  readonly #parts: HandOverParts;

  constructor(parts: HandOverParts) {
    this.#parts = parts;
  }

  /**
   * Moves the state to the new destination, after everything requested of it before has ended: a late drop would remove the new
   * state as well. The record of the sync is written last: until then the old record counts, and this is repeated after a
   * crash; from then on the new one does, as it has more reversals (see readStoredState).
   * @throws SyncError OtherSyncUnfinished if the new destination holds the state of another sync.
   */
  async move(): Promise<void> {
    const { cluster, store, syncStore } = this.#parts;
    // The same store when this is repeated: it knows its own record.
    const to = syncStore.on(cluster);
    await store.step('reverse', async () => {
      await awaitEarlierConnections(this.#parts, cluster);
      await this.#withRight(async () => {
        await this.#moveTo(to);
      });
    });
  }

  /**
   * Removes the rest of the state from the old destination, now the source.
   * @throws SyncError OtherSyncUnfinished.
   */
  async clearFormerState(): Promise<void> {
    const { cluster, store, syncStore } = this.#parts;
    await awaitEarlierConnections(this.#parts, cluster);
    store.requireLease();
    const former = syncStore.on(cluster);
    await this.#withRight(async () => {
      requireReplaceable(await former.record.readSync(), store.live.stored);
      await former.clear();
    });
  }

  /** Runs work on the state in the other cluster: each write of it needs the right when it is sent. */
  async #withRight(run: () => Promise<void>): Promise<void> {
    const { writeGuard } = this.#parts.cluster;
    writeGuard.right = this.#right;
    try {
      await run();
    } finally {
      writeGuard.right = undefined;
    }
  }

  /**
   * A process that was frozen while another one has taken its place sends nothing there: by then, another reversal may have
   * moved the state back.
   */
  get #right(): WriteRight {
    const { store, syncStore } = this.#parts;
    const { ownership } = syncStore;
    return {
      isNeededFor: () => true,
      confirm: async (connectedAtMs) => {
        await ownership.confirm(connectedAtMs);
        store.requireLease();
      },
      require: (connectedAtMs) => {
        ownership.require(connectedAtMs);
        store.requireLease();
      },
    };
  }

  async #moveTo(to: SyncStore): Promise<void> {
    const { catalog, monitor, logger } = this.#parts;
    const { live } = this.#parts.store;
    const { record, collections, views } = reversedState(
      live.stored,
      catalog.collections(),
      catalog.views(),
    );
    const stored = await to.record.readSync();
    // The answer to an earlier attempt may have been lost.
    if (stored?.reversals !== record.reversals || !isSameSync(stored, record)) {
      requireReplaceable(stored, live.stored);
      await to.clear();
      await to.putCollections(collections);
      for (const view of views) await to.putView(view);
      await to.record.createSync(record);
    }
    live.adopt(record);
    monitor.forgetSource();
    logger.info({ source: record.source.name, destination: record.destination.name }, 'reversed');
  }
}

/** @throws SyncError OtherSyncUnfinished unless a stored record is missing, or an earlier one of the same sync. */
export function requireReplaceable(stored: SyncRecord | undefined, current: SyncRecord): void {
  if (!stored) return;
  if (isSameSync(stored, current) && stored.reversals < current.reversals) return;
  throw new SyncError(
    'OtherSyncUnfinished',
    `${current.source.name} holds the state of another sync, in clustersync_internal`,
  );
}

function isSameSync(left: SyncRecord, right: SyncRecord): boolean {
  return left.startedAt.getTime() === right.startedAt.getTime();
}
