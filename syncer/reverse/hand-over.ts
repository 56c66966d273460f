import type { ClusterClient } from '../../mongo/cluster-client.ts';
import type { WriteRight } from '../../mongo/write-guard.ts';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { awaitEarlierConnections } from '../destination/earlier-writes.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { SyncRecord } from '../store/records.ts';
import type { SyncStore } from '../store/store.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';
import { reversedState } from './reversed-state.ts';

/** What the state of a sync is moved by. */
interface HandOverParts {
  /** The source: it is the destination, once the state is there. */
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
   * Moves the state to the new destination, which has ended what was asked of it before: a drop that comes later would take the new
   * state with it. The record of the sync is written last: until then the old one counts, and this is repeated after a crash; from
   * then on the new one does, for it tells of more reversals (see readStoredState).
   * @throws SyncError OtherSyncUnfinished when the new destination holds the state of a sync that is not this one.
   */
  async move(): Promise<void> {
    const { cluster, store, syncStore } = this.#parts;
    // The same one when it is repeated: it knows its own record.
    const to = syncStore.on(cluster);
    await store.step('reverse', async () => {
      await awaitEarlierConnections(this.#parts, cluster);
      cluster.writeGuard.right = this.#right;
      try {
        await this.#moveTo(to);
      } finally {
        cluster.writeGuard.right = undefined;
      }
    });
  }

  /**
   * Removes what is left of the state on the old destination, now the source.
   * @throws SyncError OtherSyncUnfinished.
   */
  async clearFormerState(): Promise<void> {
    const { cluster, store, syncStore } = this.#parts;
    await awaitEarlierConnections(this.#parts, cluster);
    store.requireLease();
    const former = syncStore.on(cluster);
    requireReplaceable(await former.record.readSync(), store.live.stored);
    await former.clear();
  }

  /** Nothing is sent to the new destination by a process that was frozen while another one has taken its place. */
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
