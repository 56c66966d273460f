import { deploymentOf } from '../../mongo/deployment.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { isTransient } from '../../mongo/server-errors.ts';
import { underOnePrimary } from '../../mongo/one-primary.ts';
import { SyncError } from '../../service/errors.ts';
import { sleep } from '../../service/sleep.ts';
import type { ClusterName } from '../options/start-body.ts';
import type { Clusters } from '../store/clusters.ts';
import { setWriteBlocking } from '../destination/write-blocking.ts';
import { Lease, LeaseLost } from '../instances/lease.ts';
import { awaitEarlierWrites } from '../destination/earlier-writes.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { SyncRecord } from '../store/records.ts';
import type { SyncStore } from '../store/store.ts';
import { cleanDestination } from './clean-destination.ts';
import { findStoredSync, receiveReset, type RecordPlaces } from './receive-reset.ts';
import { resetWaitsFor } from '../store/reset-error.ts';

/** What carrying out a reset needs of its process. */
export interface ResetParts extends RetryContext, RecordPlaces {
  readonly clusters: Clusters;
  readonly monitor: SyncMonitor;
  /** Whether this instance is to coordinate the others. */
  readonly isPreferred: boolean;
}

/** How often the others are looked at. */
const waitMs = 50;

/** A server that is asked for a right again has it renewed at most this often by whoever goes through many collections. */
const keepRightEveryMs = 3_000;

/**
 * Ends a sync that is being reset, once nothing works on it any more in this process. What is done at which step follows from
 * what is stored, the record of the sync is deleted last: killed at any point, it is called again and repeats what may have been
 * done. Of several instances each ends what it had asked of the destination, then the one that has the lease does the rest.
 * Resolves when no state of the sync is left.
 */
export async function carryOutReset(parts: ResetParts): Promise<void> {
  const { live, monitor, signal, clusters } = parts;
  const { startedAt } = live.stored;
  // One for each cluster, so that a claim or a lease stays that of this process.
  const stores = new Map<ClusterName, SyncStore>();
  const storeOn = (name: ClusterName): SyncStore => {
    const store = stores.get(name) ?? parts.storeOn(name);
    stores.set(name, store);
    return store;
  };
  const reset = new Reset({ ...parts, storeOn });
  using trouble = monitor.troubles.watch('reset', 'waiting');
  try {
    for (;;) {
      const reason = await retrying(
        parts,
        'reset',
        async () => {
          const record = await findStoredSync({ ...parts, storeOn });
          // Another one may have been started since.
          if (record?.startedAt.getTime() !== startedAt.getTime()) return undefined;
          return await reset.advance(record);
        },
        isPassing,
      );
      if (reason === undefined) return;
      trouble.set(reason);
      await sleep(waitMs, signal);
    }
  } finally {
    clusters.cluster0.writeGuard.right = undefined;
    clusters.cluster1.writeGuard.right = undefined;
  }
}

/** Also where another process has gone further meanwhile: what is left to do is looked up again. */
function isPassing(error: unknown): boolean {
  if (error instanceof SyncError && error.name === 'SupersededByOtherInstance') return true;
  return error instanceof LeaseLost || isTransient(error);
}

class Reset {
  readonly #parts: ResetParts;
  /** The cluster that holds the record of which this process has claimed its instance, and the lease there. */
  #place: { readonly name: ClusterName; readonly lease: Lease } | undefined;

  constructor(parts: ResetParts) {
    this.#parts = parts;
  }

  /** Does what comes next. Gives what it waits for; the record is looked up again after that. */
  async advance(record: SyncRecord): Promise<string> {
    const { id, live, storeOn, isPreferred } = this.#parts;
    live.adopt(record);
    const { reset, instances } = record;
    const { name } = record.destination;
    const store = storeOn(name);
    if (!reset?.received.includes(id)) {
      // A reversal that was under way has moved the record.
      await receiveReset(this.#parts, reset?.destination ?? 'Keep');
      return 'the state was moved by a reversal';
    }
    if (this.#place?.name !== name) {
      await this.#endEarlierWork(record, store);
      this.#place = { name, lease: new Lease(store.lease, isPreferred) };
      return 'what this instance had begun has ended just now';
    }
    const reason = resetWaitsFor(instances, reset);
    if (reason !== undefined) return reason;
    const { lease } = this.#place;
    const isAlone = instances.length === 1;
    if (!isAlone) {
      await lease.keep();
      if (!lease.isHeld) return 'the coordinator has not done its part';
    }
    const requireRight = isAlone ? store.claim.require : lease.require;
    let keptAtMs = -Infinity;
    const keepRight = async (): Promise<void> => {
      if (performance.now() - keptAtMs < keepRightEveryMs) return;
      keptAtMs = performance.now();
      await store.heartbeat();
      if (!isAlone) await lease.keep();
    };
    // After an attempt that has removed that already.
    await store.claimInstance();
    await this.#carryOut(record, store, { requireRight, keepRight });
    return 'the stored state is about to be gone';
  }

  /**
   * Makes sure that no process writes any more for this instance what it was asked to before the reset, and records that.
   */
  async #endEarlierWork(record: SyncRecord, store: SyncStore): Promise<void> {
    const { clusters, topologies } = this.#parts;
    const { name } = record.destination;
    const destination = deploymentOf(clusters[name], topologies[name]);
    await store.claimInstance();
    destination.writeGuard.right = store.claim;
    await underOnePrimary(destination, this.#parts.signal, async () => {
      await awaitEarlierWrites({ ...this.#parts, destination });
    });
    await store.endForReset(record);
  }

  async #carryOut(
    record: SyncRecord,
    store: SyncStore,
    right: { readonly requireRight: () => void; readonly keepRight: () => Promise<void> },
  ): Promise<void> {
    const { clusters, topologies, storeOn, logger, signal } = this.#parts;
    const { reset, options, source, destination } = record;
    const { requireRight, keepRight } = right;
    const left = reset?.destination ?? 'Keep';
    const blocked = left === 'Keep' ? [] : blockedBySync(record);
    const unblock = async (name: ClusterName): Promise<void> => {
      if (!blocked.includes(name)) return;
      await setWriteBlocking(clusters[name], false, signal, requireRight);
      logger.info({ cluster: name }, 'users may write again');
    };
    logger.info({ destination: left, blocked }, 'resetting');
    await unblock(source.name);
    if (left === 'Clean') {
      const cleaned = deploymentOf(clusters[destination.name], topologies[destination.name]);
      const cleaning = {
        ...{ destination: cleaned, options, record, keepRight, signal, logger },
        requireLease: requireRight,
      };
      const { ownsCatalog } = record;
      const collections = ownsCatalog ? await store.readCollections() : [];
      await cleanDestination(cleaning, collections, ownsCatalog ? await store.readViews() : []);
      await keepRight();
    }
    await unblock(destination.name);
    // A reversal leaves a part of its state on the other cluster, or has begun to put it there.
    if (options.reversible) {
      const other = storeOn(source.name);
      const former = await other.readSync();
      if (!former || former.startedAt.getTime() === record.startedAt.getTime())
        await other.forget(former, requireRight);
    }
    await store.forget(record, requireRight);
    logger.info({ destination: left }, 'reset');
  }
}

/**
 * Where the sync keeps users from writing, but for the source of a commit whose destination users may have written to: what is
 * written there later would be lost to them.
 */
export function blockedBySync({
  state,
  canWrite,
  writableTime,
  options,
}: Pick<SyncRecord, 'state' | 'canWrite' | 'writableTime' | 'options'>): readonly ClusterName[] {
  if (!options.enableUserWriteBlocking) return [];
  const isSourceBlocked = state === 'COMMITTING' && writableTime === null;
  return [...(isSourceBlocked ? [options.source] : []), ...(canWrite ? [] : [options.destination])];
}
