import { MongoServerError } from 'mongodb';
import { isSameNamespace, namespaceText } from '../../mongo/namespace.ts';
import { backgroundBuild } from '../../mongo/own-operations.ts';
import { longWorkMs } from '../../mongo/retry-warnings.ts';
import { isTrue, replicatedIndex } from '../../mongo/replicated-form.ts';
import { isIndexRefused, isTransient, neededAction } from '../../mongo/server-errors.ts';
import { isSameSpec, type IndexSpec } from '../../mongo/specification.ts';
import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { sleep } from '../../service/sleep.ts';
import type { Destination } from '../destination/destination.ts';
import type { Coordination } from '../instances/coordination.ts';
import { LeaseLost } from '../instances/lease.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { CatalogEvent } from '../source/change-event.ts';
import type { LeftIndexRecord } from '../store/left-index-store.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';
import { disturbsBuild } from './apply-modify.ts';

const roundMs = 1_000;
const pollMs = 50;

/** The wait after an attempt doubles each time, up to this, */
const maxWaitMs = 600_000;
/** and is at least this many times as long as a refused attempt took: the server reads all documents before it refuses. */
const restShare = 4;

/** Shorter attempts say nothing about how fast documents are read. */
const minRateSeconds = 1;

/** What building left indexes needs. */
interface BuilderParts {
  readonly destination: Destination;
  readonly catalog: TrackedCatalog;
  readonly store: WorkStore;
  readonly coordination: Coordination;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Builds indexes that are left to the commit, one at a time, while changes are applied. Only the coordinator does so. Changes
 * of documents continue meanwhile; a catalog change of the same collection that would disturb the build ends it (`aside`), and
 * it is started again later.
 */
export class LeftIndexBuilder {
  readonly #parts: BuilderParts;
  readonly #builds: LeftBuilds;
  readonly #stopped = new AbortController();
  readonly #attempts = new Map<string, { readonly count: number; readonly nextMs: number }>();
  readonly #ended: Promise<void>;
  /** How many catalog changes are being applied. */
  #barriers = 0;
  #current: LeftIndexRecord | undefined;
  /** The one whose build a catalog change has ended last. */
  #setAside: LeftIndexRecord | undefined;

  /** @param failed - gets the error that ends the sync. */
  constructor(parts: BuilderParts, failed: (error: unknown) => void) {
    const { destination, catalog } = parts;
    this.#parts = parts;
    this.#builds = new LeftBuilds(destination, catalog, parts);
    this.#ended = this.#run().catch(failed);
  }

  /** Applies a change of the catalog, with no build of its collection running. May be repeated. */
  async aside(event: CatalogEvent, apply: () => Promise<void>): Promise<void> {
    this.#barriers++;
    try {
      await this.#makeRoom(event);
      await apply();
    } finally {
      this.#barriers--;
    }
  }

  /** Starts no more builds. Resolves when the current one has ended: the commit would have to start it again. */
  async finish(): Promise<void> {
    this.#stopped.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { signal, logger } = this.#parts;
    const either = AbortSignal.any([signal, this.#stopped.signal]);
    while (!either.aborted) {
      try {
        await this.#round();
      } catch (error) {
        if (signal.aborted) return;
        // Another instance builds them.
        const isOthers = error instanceof LeaseLost;
        if (!isOthers && !isOfServer(error)) throw error;
        const reason = messageOf(error);
        if (!isOthers) logger.debug({ reason }, 'left indexes are retried later');
      }
      await sleep(roundMs, either).catch(() => undefined);
    }
  }

  async #round(): Promise<void> {
    const { coordination } = this.#parts;
    const { leftIndexes } = this.#parts.destination;
    // Another instance may have left an index, or built it.
    if (coordination.share.count > 1) await leftIndexes.refresh();
    const now = performance.now();
    const next = leftIndexes.records.find(
      (record) => (this.#attempts.get(keyOf(record))?.nextMs ?? 0) <= now,
    );
    if (next === undefined || this.#barriers > 0) return;
    const requireTerm = coordination.requireThisTerm();
    this.#current = next;
    try {
      await this.#attempt(next, requireTerm);
    } finally {
      this.#current = undefined;
    }
  }

  async #attempt(record: LeftIndexRecord, requireTerm: () => void): Promise<void> {
    const { destination, logger, signal, store } = this.#parts;
    const { leftIndexes } = destination;
    // Read from the store: another coordinator may have changed it since this instance read it.
    const tracked = await store.readCollection(record.collection);
    const spec = tracked?.indexes.find(({ name }) => name === record.name);
    if (!tracked || !spec) {
      if (this.#barriers === 0) await leftIndexes.remove(record);
      return;
    }
    if (isTrue(tracked.options['capped'])) {
      // The index may refuse a state that is replayed later, and the document would move to the end of the natural order.
      this.#attempts.set(keyOf(record), { count: 0, nextMs: Infinity });
      return;
    }
    const wanted = replicatedIndex(spec);
    if (await this.#isBuilt(tracked, wanted)) {
      await leftIndexes.remove(record);
      return;
    }
    const bytes = await destination.catalog.sizeOf(tracked.namespace);
    const bySize = leftIndexes.secondsFor(bytes ?? 0);
    if (bySize !== null && bySize > (record.expectedSeconds ?? 0))
      await leftIndexes.expect(record, bySize);
    const names = { namespace: namespaceText(tracked.namespace), index: record.name };
    const count = (this.#attempts.get(keyOf(record))?.count ?? 0) + 1;
    logger.debug({ ...names, attempt: count }, 'building a left index');
    const startMs = performance.now();
    let failedMs = 0;
    let nextCount = count;
    try {
      await this.#build(tracked, wanted, requireTerm);
      logger.info(names, 'a left index is built');
      nextCount = 0;
      await leftIndexes.remove(record);
    } catch (error) {
      if (signal.aborted) throw error;
      const isSetAside = this.#setAside === record;
      const isLasting = isOfServer(error) && !isTransient(error) && !isSetAside;
      // Nothing speaks against the next build.
      if (isSetAside) nextCount = 0;
      if (isLasting) failedMs = performance.now() - startMs;
      // A build continues when its client is gone.
      if (!isIndexRefused(error)) await this.#builds.end((one) => keyOf(one) === keyOf(record));
      if (isLasting || isIndexRefused(error) || neededAction(error) !== undefined)
        await leftIndexes.leave(tracked.namespace, record.name, error);
      logger.debug({ ...names, reason: messageOf(error) }, 'the index stays left to the commit');
      if (!isOfServer(error)) throw error;
    } finally {
      const waitMs = Math.max(Math.min(maxWaitMs, roundMs * 2 ** nextCount), restShare * failedMs);
      this.#attempts.set(keyOf(record), { count: nextCount, nextMs: performance.now() + waitMs });
    }
  }

  /** Whether the destination has it; on a sharded one, only building it again tells that no shard lacks it. */
  async #isBuilt({ namespace }: TrackedCollection, spec: IndexSpec): Promise<boolean> {
    const { catalog, kind } = this.#parts.destination;
    if (kind.buildsOnEachShard) return false;
    const present = await catalog.indexesOf(namespace);
    return present.some((one) => one.name === spec.name && isSameSpec(one, spec));
  }

  async #build(
    tracked: TrackedCollection,
    spec: IndexSpec,
    requireTerm: () => void,
  ): Promise<void> {
    const { catalog, kind, leftIndexes } = this.#parts.destination;
    const startMs = performance.now();
    const work = `index ${spec.name} of ${namespaceText(tracked.namespace)}`;
    using warning = this.#parts.monitor.retryWarnings.watch(work, 'building', longWorkMs);
    warning.set('a commit waits for it');
    try {
      await catalog.createIndexes(tracked.namespace, [spec], {
        collectionUUID: tracked.destinationUuid ?? undefined,
        comment: backgroundBuild,
        assertMaySend: requireTerm,
      });
    } catch (error) {
      if (!isIndexRefused(error)) throw error;
      if (kind.buildsOnEachShard) await catalog.dropUnlessNeeded(tracked.namespace, spec.name);
      const seconds = (performance.now() - startMs) / 1000;
      // A refusal at the end of the build also tells how long it takes, and so does an immediate one.
      const record = leftIndexes.of(tracked.uuid).find(({ name }) => name === spec.name);
      if (record) await leftIndexes.expect(record, Math.max(1, Math.ceil(seconds)));
      throw error;
    }
    const seconds = (performance.now() - startMs) / 1000;
    if (seconds >= minRateSeconds)
      leftIndexes.addRate((await catalog.sizeOf(tracked.namespace)) ?? 0, seconds);
  }

  /** Ends the builds of the collections that a catalog change is about. */
  async #makeRoom(event: CatalogEvent): Promise<void> {
    const { catalog, destination, signal } = this.#parts;
    const { operation, uuid, namespace, to } = event;
    const isConcerned = ({ collection, name }: LeftIndexRecord): boolean => {
      if (!disturbsBuild(event, name, destination.kind)) return false;
      const there = catalog.collection(collection.toHexString(false))?.namespace;
      const names = [namespace, ...(to ? [to] : [])];
      return (
        uuid?.equals(collection) === true ||
        (there !== undefined && names.some((name) => isSameNamespace(name, there)))
      );
    };
    for (;;) {
      await this.#builds.end(isConcerned);
      if (!(this.#current && isConcerned(this.#current))) break;
      this.#setAside = this.#current;
      await sleep(pollMs, signal);
    }
    // One of the same name may follow, which nothing speaks against.
    if (operation === 'dropIndexes')
      for (const record of destination.leftIndexes.records.filter(isConcerned))
        this.#attempts.delete(keyOf(record));
  }
}

/** The running builds of left indexes on the destination. */
export class LeftBuilds {
  readonly #destination: Destination;
  readonly #catalog: TrackedCatalog;
  readonly #monitor: SyncMonitor;
  readonly #logger: Logger;
  readonly #signal: AbortSignal;

  constructor(
    destination: Destination,
    catalog: TrackedCatalog,
    { monitor, logger, signal }: { monitor: SyncMonitor; logger: Logger; signal: AbortSignal },
  ) {
    this.#destination = destination;
    this.#catalog = catalog;
    this.#monitor = monitor;
    this.#logger = logger;
    this.#signal = signal;
  }

  /**
   * Ends the builds of left indexes: a process that is gone may have started them, and catalog changes, or waiting for earlier
   * writes, would wait for them. It waits for builds that were sent, but have not begun on the server: such a build would add
   * an index that the source may have dropped by then.
   */
  async end(selects: (record: LeftIndexRecord) => boolean = () => true): Promise<void> {
    using warning = this.#monitor.retryWarnings.watch('left indexes', 'waiting');
    for (;;) {
      const count = await this.#endOnce(selects);
      if (count === 0) return;
      warning.set(`the destination has not completed ${count} builds of left indexes`);
      await sleep(pollMs, this.#signal);
    }
  }

  /** @returns how many there were. */
  async #endOnce(selects: (record: LeftIndexRecord) => boolean): Promise<number> {
    const { catalog, kind, leftIndexes } = this.#destination;
    let count = 0;
    for (const record of leftIndexes.records.filter(selects)) {
      const tracked = this.#catalog.collection(record.collection.toHexString(false));
      if (!tracked) continue;
      const { namespace, destinationUuid } = tracked;
      const { name } = record;
      if ((await catalog.buildsOf(namespace)).includes(name)) {
        await catalog.dropIndex(namespace, name);
        this.#logger.info(
          { namespace: namespaceText(namespace), index: name },
          'the index build yields, and is started again later',
        );
        count++;
        continue;
      }
      count += await kind.backgroundBuilds(destinationUuid, name, this.#signal);
    }
    return count;
  }
}

/** True for an error that is not this program's fault: the next attempt may find the server in a better state. */
function isOfServer(error: unknown): boolean {
  return error instanceof MongoServerError || isTransient(error);
}

function keyOf({ collection, name }: LeftIndexRecord): string {
  return `${collection.toHexString()} ${name}`;
}
