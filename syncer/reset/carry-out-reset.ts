import type { CollectionInfo } from '../../mongo/catalog.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { underOnePrimary } from '../../mongo/one-primary.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { retrying } from '../../mongo/retrying.ts';
import { isTransient } from '../../mongo/server-errors.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import type { Logger } from '../../service/logger.ts';
import { sleep } from '../../service/sleep.ts';
import { catalogSideBySide, DestinationCatalog } from '../destination/destination-catalog.ts';
import { isSameView } from '../destination/destination-views.ts';
import {
  awaitEarlierConnections,
  awaitEarlierWrites,
  connectionsOf,
} from '../destination/earlier-writes.ts';
import { MadeCollections } from '../destination/made-collections.ts';
import { setWriteBlocking } from '../destination/write-blocking.ts';
import { Lease, LeaseLost } from '../instances/lease.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { ClusterName } from '../options/command-bodies.ts';
import type { ClusterPair } from '../store/clusters.ts';
import { resetWaitsFor } from '../store/instances.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { SyncRecord, TrackedCollection, TrackedView } from '../store/records.ts';
import type { SyncStore } from '../store/store.ts';
import { findStoredSync, receiveReset } from './receive-reset.ts';
import { isSuperseded, ResetClaim } from './reset-claim.ts';

/** How often to read the others' state. */
const waitMs = 50;

/** Work on many collections renews its right at the server at most this often. */
const keepRightEveryMs = 3_000;

/** Also if another process has got further meanwhile: the rest of the work is determined again. */
function isPassing(error: unknown): boolean {
  return isSuperseded(error) || error instanceof LeaseLost || isTransient(error);
}

/**
 * The end of a sync that is being reset, once nothing in this process works on it. The stored state determines each step, and
 * the record of the sync is deleted last: if the process is killed at any point, the reset runs again and repeats what may have
 * been done. With several instances, each ends what it had requested of the destination, then the one that has the lease does
 * the rest.
 */
export class Reset {
  readonly #live: LiveSync;
  readonly #pair: ClusterPair;
  readonly #monitor: SyncMonitor;
  readonly #logger: Logger;
  readonly #isPreferred: boolean;
  /** One for each cluster, so that an ownership or a lease stays with this process. */
  readonly #stores = new Map<ClusterName, SyncStore>();
  readonly #claim: ResetClaim;
  /** The cluster with the record on which this process has ended its own work, and the lease there. */
  #place: { readonly name: ClusterName; readonly lease: Lease } | undefined;

  /** @param isPreferred - whether this instance should coordinate the others. */
  constructor(
    live: LiveSync,
    pair: ClusterPair,
    monitor: SyncMonitor,
    logger: Logger,
    isPreferred: boolean,
  ) {
    this.#live = live;
    this.#pair = pair;
    this.#monitor = monitor;
    this.#logger = logger;
    this.#isPreferred = isPreferred;
    const onLost = (): void => {
      this.#place = undefined;
    };
    this.#claim = new ResetClaim({ pair, onLost });
  }

  /** Resolves when no state of the sync is left. */
  async carryOut(): Promise<void> {
    const { clients, signal } = this.#pair;
    const { startedAt } = this.#live.stored;
    const retries = { signal, logger: this.#logger, monitor: this.#monitor };
    const step = async (): Promise<string | undefined> => {
      const record = await findStoredSync(this.#pair, this.#live.stored);
      // Another sync may have been started since.
      if (record?.startedAt.getTime() !== startedAt.getTime()) return undefined;
      return await this.#advance(record);
    };
    using warning = this.#monitor.retryWarnings.watch('reset', 'waiting');
    try {
      for (;;) {
        const reason = await retrying(retries, 'reset', step, isPassing);
        if (reason === undefined) return;
        warning.set(reason);
        await sleep(waitMs, signal);
      }
    } finally {
      clients.cluster0.writeGuard.right = undefined;
      clients.cluster1.writeGuard.right = undefined;
    }
  }

  /** Takes the next step. Returns what it waits for; the record is read again after that. */
  async #advance(record: SyncRecord): Promise<string> {
    const { instanceId } = this.#pair;
    this.#live.adopt(record);
    const { reset, instances } = record;
    const { name } = record.destination;
    const store = this.#storeOn(name);
    if (!reset?.received.includes(instanceId)) {
      // A reversal in progress has moved the record.
      const { startedAt } = record;
      await receiveReset(this.#pair, record, reset?.destination ?? 'Keep', { startedAt });
      return 'a reversal has moved the state';
    }
    if (this.#place?.name !== name) {
      await this.#endEarlierWork(record, store);
      this.#place = { name, lease: new Lease(store.lease, this.#isPreferred) };
      return 'this instance has just ended its own work';
    }
    const reason = resetWaitsFor(instances, reset);
    if (reason !== undefined) return reason;
    const { lease } = this.#place;
    const isAlone = instances.length === 1;
    if (!isAlone) {
      await lease.keep();
      if (!lease.isHeld) return 'the coordinator has not done its part';
      const open = await this.#connectionsOfFormer(record, store, lease.takenAtMs);
      if (open > 0) return `a server has not completed ${open} earlier connections`;
    }
    const requireRight = isAlone ? store.ownership.require : lease.require;
    let keptAtMs = -Infinity;
    const keepRight = async (): Promise<void> => {
      if (performance.now() - keptAtMs < keepRightEveryMs) return;
      keptAtMs = performance.now();
      await store.heartbeat();
      if (!isAlone) await lease.keep({ mayTake: false });
    };
    if (!(await this.#claim.keepOrTake(name, store))) return 'this instance has been claimed again';
    await this.#remove(record, store, { requireRight, keepRight });
    return 'the stored state is about to be removed';
  }

  /**
   * How many connections may still deliver what an instance has sent that carried out the reset before this one: arriving later,
   * it would remove the state of the next sync.
   */
  async #connectionsOfFormer(
    { options, destination, source }: SyncRecord,
    store: SyncStore,
    sinceMs: number,
  ): Promise<number> {
    const { clients, signal } = this.#pair;
    const former = { instances: await store.lease.readFormer(), sinceMs };
    const names = options.enableUserWriteBlocking
      ? [destination.name, source.name]
      : [destination.name];
    let sum = 0;
    for (const name of names) sum += await connectionsOf(former, clients[name], signal);
    return sum;
  }

  /** Makes sure that no process still writes for this instance what was requested before the reset, and records that. */
  async #endEarlierWork(record: SyncRecord, store: SyncStore): Promise<void> {
    const { signal } = this.#pair;
    const destination = this.#pair.deployment(record.destination.name);
    await this.#claim.keepOrTake(record.destination.name, store);
    destination.writeGuard.right = store.ownership.forReset;
    const waiting = { destination, signal, logger: this.#logger, monitor: this.#monitor };
    await underOnePrimary(destination, signal, async () => {
      await awaitEarlierWrites(waiting);
    });
    // Its blocking, and a reversal's state, are all that is written to a source.
    if (record.options.enableUserWriteBlocking)
      await awaitEarlierConnections(waiting, this.#pair.clients[record.source.name]);
    await store.record.endForReset(record);
  }

  /** Removes what the sync has left: its blocking, its data if requested, and its state. */
  async #remove(
    record: SyncRecord,
    store: SyncStore,
    right: { readonly requireRight: () => void; readonly keepRight: () => Promise<void> },
  ): Promise<void> {
    const { clients, signal } = this.#pair;
    const logger = this.#logger;
    const { reset, options, source, destination } = record;
    const { requireRight, keepRight } = right;
    const left = reset?.destination ?? 'Keep';
    const blocked = left === 'Keep' ? [] : blockedBySync(record);
    const unblock = async (name: ClusterName): Promise<void> => {
      if (!blocked.includes(name)) return;
      await setWriteBlocking(clients[name], false, signal, requireRight);
      logger.info({ cluster: name }, 'users may write again');
    };
    logger.info({ destination: left, blocked }, 'resetting');
    await unblock(source.name);
    if (left === 'Clean') {
      const cleaned = this.#pair.deployment(destination.name);
      const catalog = new DestinationCatalog(cleaned, requireRight, signal);
      const cleaning = { catalog, record, keepRight, logger };
      const { ownsCatalog } = record;
      const collections = ownsCatalog ? await store.readCollections() : [];
      await cleanDestination(cleaning, collections, ownsCatalog ? await store.readViews() : []);
      await keepRight();
    }
    await unblock(destination.name);
    // A reversal leaves a part of its state on the other cluster, or has started to put it there.
    if (options.reversible) {
      const other = this.#storeOn(source.name);
      const former = await other.record.readSync();
      if (!former || former.startedAt.getTime() === record.startedAt.getTime())
        await other.forget(former, requireRight);
    }
    await store.forget(record, requireRight);
    logger.info({ destination: left }, 'reset');
  }

  #storeOn(name: ClusterName): SyncStore {
    const store = this.#stores.get(name) ?? this.#pair.storeOn(name);
    this.#stores.set(name, store);
    return store;
  }
}

/**
 * Where the sync blocks the writes of users, except for the source of a commit to whose destination users may have written:
 * they would lose what they wrote to that source later.
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

/** What cleaning a destination needs. */
export interface Cleaning {
  /** The catalog of the destination. */
  readonly catalog: DestinationCatalog;
  readonly record: SyncRecord;
  readonly logger: Logger;
  /** Renews the right to change the destination. */
  readonly keepRight: () => Promise<void>;
}

/**
 * Drops on the destination what the sync has made, and nothing else: collections by their UUIDs, views that are still as the
 * sync has put them. Whatever it cannot prove to be the sync's is left, and named in the log. May be repeated.
 */
export async function cleanDestination(
  cleaning: Cleaning,
  collections: readonly TrackedCollection[],
  views: readonly TrackedView[],
): Promise<void> {
  const dropped = { collections: 0, views: 0 };
  // Views first: they may depend on what is dropped next.
  await forEachConcurrently(views, catalogSideBySide, async (view) => {
    await cleaning.keepRight();
    if (await dropView(cleaning, view)) dropped.views++;
  });
  await forEachConcurrently(collections, catalogSideBySide, async (collection) => {
    await cleaning.keepRight();
    if (await dropMade(cleaning, collection)) dropped.collections++;
  });
  cleaning.logger.info(dropped, 'destination cleaned');
}

async function dropMade(cleaning: Cleaning, collection: TrackedCollection): Promise<boolean> {
  for (;;) {
    const made = await findMade(cleaning, collection);
    if (!made) {
      await warnOfOther(cleaning, collection);
      return false;
    }
    // If it has moved meanwhile, look for it again.
    if (await cleaning.catalog.dropCollection(made.namespace, made.uuid)) return true;
  }
}

/** The collection that the sync has made for one of the source; undefined if it is gone, or not proven to be that. */
async function findMade(
  cleaning: Cleaning,
  tracked: TrackedCollection,
): Promise<CollectionInfo | undefined> {
  const { namespace, destinationUuid, options } = tracked;
  const { catalog, record } = cleaning;
  if (destinationUuid !== null) {
    const found = await catalog.find(tracked);
    if (found) return found;
  }
  const there = await catalog.collectionAt(namespace);
  if (!there) return undefined;
  // The sync was about to make it where nothing was, and puts documents there only after storing its UUID.
  if (destinationUuid === null)
    return (await new MadeCollections(catalog).isAsMade(there, tracked)) ? there : undefined;
  // The commit was about to store the UUID that the server has given it.
  const isConverted = record.phase === 'restoring' && options['clusteredIndex'] !== undefined;
  return isConverted && isTrue(options['capped']) && isTrue(there.options['capped'])
    ? there
    : undefined;
}

async function warnOfOther(cleaning: Cleaning, { namespace }: TrackedCollection): Promise<void> {
  if (!(await cleaning.catalog.collectionAt(namespace))) return;
  cleaning.logger.warn(
    { namespace: namespaceText(namespace) },
    'left on the destination: not the collection that the sync created',
  );
}

async function dropView(cleaning: Cleaning, { namespace, options }: TrackedView): Promise<boolean> {
  const there = await cleaning.catalog.namespaceAt(namespace);
  if (!there) return false;
  if (!isSameView(there, options)) {
    cleaning.logger.warn(
      { namespace: namespaceText(namespace) },
      'left on the destination: not the view that the sync created',
    );
    return false;
  }
  await cleaning.catalog.drop(namespace);
  return true;
}
