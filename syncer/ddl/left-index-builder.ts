import { MongoServerError } from 'mongodb';
import { listIndexBuilds, listIndexes } from '../../mongo/catalog.ts';
import { isSameNamespace, namespaceText } from '../../mongo/namespace.ts';
import { backgroundBuild, backgroundBuildsUnderWay } from '../../mongo/own-operations.ts';
import { isTrue, replicatedIndex } from '../../mongo/replicated-form.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { isIndexRefused, isTransient, neededAction } from '../../mongo/server-errors.ts';
import { isSameSpec, type IndexSpec } from '../../mongo/specification.ts';
import { messageOf } from '../../service/errors.ts';
import { sleep } from '../../service/sleep.ts';
import {
  dropIndex,
  dropUnlessNeeded,
  runCreateIndexes,
} from '../destination/destination-catalog.ts';
import { LeaseLost } from '../instances/lease.ts';
import type { LeftIndexRecord } from '../store/left-index-store.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { SyncContext } from '../context/sync-context.ts';
import type { CatalogEvent } from '../source/change-event.ts';

const roundMs = 1_000;
const pollMs = 50;

/** The wait after an attempt: twice as long after each, up to this, */
const maxWaitMs = 600_000;
/** and so many times as long as one that was refused has taken: the documents are read to the end first. */
const restShare = 4;

/** Shorter attempts say nothing of how fast documents are read. */
const minRateSeconds = 1;

/**
 * Builds indexes that are left to the commit, one at a time, while changes are applied. Only the coordinator does. Changes of
 * documents go on beside it; a change of the catalog of the same collection ends the build (`aside`), which is begun again later.
 */
export class LeftIndexBuilder {
  readonly #context: SyncContext;
  readonly #stopped = new AbortController();
  readonly #attempts = new Map<string, { readonly count: number; readonly nextMs: number }>();
  readonly #ended: Promise<void>;
  /** Changes of the catalog that are being applied. */
  #barriers = 0;
  #current: LeftIndexRecord | undefined;

  /** @param failed - is given what ends the sync. */
  constructor(context: SyncContext, failed: (error: unknown) => void) {
    this.#context = context;
    this.#ended = this.#run().catch(failed);
  }

  /** Applies a change of the catalog, with no build of its collection beside it. May be repeated. */
  async aside(event: CatalogEvent, apply: () => Promise<void>): Promise<void> {
    this.#barriers++;
    try {
      await this.#makeRoom(event);
      await apply();
    } finally {
      this.#barriers--;
    }
  }

  /** Begins no more builds. Resolves when the one under way has ended: the commit would have to begin it again. */
  async finish(): Promise<void> {
    this.#stopped.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { signal } = this.#context;
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
        if (!isOthers) this.#context.logger.debug({ reason }, 'left indexes are looked at later');
      }
      await sleep(roundMs, either).catch(() => undefined);
    }
  }

  async #round(): Promise<void> {
    const { coordination, leftIndexes, requireLease } = this.#context;
    if (coordination.share.count > 1) await leftIndexes.refresh();
    const now = performance.now();
    const next = leftIndexes.records.find(
      (record) => (this.#attempts.get(keyOf(record))?.nextMs ?? 0) <= now,
    );
    if (next === undefined || this.#barriers > 0) return;
    requireLease();
    this.#current = next;
    try {
      await this.#attempt(next);
    } finally {
      this.#current = undefined;
    }
  }

  async #attempt(record: LeftIndexRecord): Promise<void> {
    const { destination, leftIndexes, logger, signal, store } = this.#context;
    // As it is stored: another coordinator may have changed it since this instance has read it.
    const tracked = await store.readCollection(record.collection);
    const spec = tracked?.indexes.find(({ name }) => name === record.name);
    if (!tracked || !spec) {
      if (this.#barriers === 0) await leftIndexes.remove(record);
      return;
    }
    if (isTrue(tracked.options['capped'])) {
      // A state that is replayed later may be refused by it again, and its document would move to the end of the natural order.
      this.#attempts.set(keyOf(record), { count: 0, nextMs: Infinity });
      return;
    }
    const wanted = replicatedIndex(spec);
    const present = await listIndexes(destination, tracked.namespace, signal);
    if (present?.some((one) => one.name === spec.name && isSameSpec(one, wanted))) {
      await leftIndexes.remove(record);
      return;
    }
    const bytes = await this.#sizeOf(tracked);
    const expected = record.expectedSeconds ?? leftIndexes.secondsFor(bytes);
    if (expected !== null && expected !== record.expectedSeconds)
      await leftIndexes.expect(record, expected);
    const names = { namespace: namespaceText(tracked.namespace), index: record.name };
    const count = (this.#attempts.get(keyOf(record))?.count ?? 0) + 1;
    logger.debug({ ...names, attempt: count }, 'building an index that was left');
    const startMs = performance.now();
    let refusedMs = 0;
    try {
      await this.#build(tracked, wanted);
      logger.info(names, 'an index that was left is built');
      await leftIndexes.remove(record);
    } catch (error) {
      if (signal.aborted) throw error;
      // A build goes on without the client that has asked for it.
      if (isIndexRefused(error)) refusedMs = performance.now() - startMs;
      else await endLeftBuilds(this.#context, (one) => keyOf(one) === keyOf(record));
      if (isIndexRefused(error) || neededAction(error) !== undefined)
        await leftIndexes.leave(tracked.namespace, record.name, error);
      logger.debug({ ...names, reason: messageOf(error) }, 'index stays left to the commit');
      if (!isOfServer(error)) throw error;
    } finally {
      const waitMs = Math.max(Math.min(maxWaitMs, roundMs * 2 ** count), restShare * refusedMs);
      this.#attempts.set(keyOf(record), { count, nextMs: performance.now() + waitMs });
    }
  }

  async #build(tracked: TrackedCollection, spec: IndexSpec): Promise<void> {
    const { destination, leftIndexes } = this.#context;
    const startMs = performance.now();
    try {
      await runCreateIndexes(this.#context, tracked.namespace, [spec], {
        collectionUUID: tracked.destinationUuid ?? undefined,
        comment: backgroundBuild,
      });
    } catch (error) {
      // Each shard builds it by itself.
      if (isIndexRefused(error) && destination.isSharded)
        await dropUnlessNeeded(this.#context, tracked.namespace, spec.name);
      if (!isIndexRefused(error)) throw error;
      const seconds = (performance.now() - startMs) / 1000;
      // What was read to the end, and refused there, tells the time, too; and so does what is refused at once.
      const record = leftIndexes.of(tracked.uuid).find(({ name }) => name === spec.name);
      if (record) await leftIndexes.expect(record, Math.max(1, Math.ceil(seconds)));
      throw error;
    }
    const seconds = (performance.now() - startMs) / 1000;
    if (seconds >= minRateSeconds) leftIndexes.addRate(await this.#sizeOf(tracked), seconds);
  }

  async #sizeOf({ namespace: { db, coll } }: TrackedCollection): Promise<number> {
    const { destination, signal } = this.#context;
    const { size } = await runCommand(destination.decoded.db(db), { collStats: coll }, { signal });
    return Number(size);
  }

  /** Ends what is being built of the collections that a change of the catalog is about. */
  async #makeRoom({ uuid, namespace, to }: CatalogEvent): Promise<void> {
    const { catalog } = this.#context;
    const isConcerned = ({ collection }: LeftIndexRecord): boolean => {
      const there = catalog.collection(collection.toHexString(false))?.namespace;
      const names = [namespace, ...(to ? [to] : [])];
      return (
        uuid?.equals(collection) === true ||
        (there !== undefined && names.some((name) => isSameNamespace(name, there)))
      );
    };
    for (;;) {
      await endLeftBuilds(this.#context, isConcerned);
      if (!(this.#current && isConcerned(this.#current))) return;
      await sleep(pollMs, this.#context.signal);
    }
  }
}

type EndingBuilds = Pick<
  SyncContext,
  'destination' | 'signal' | 'requireLease' | 'leftIndexes' | 'catalog' | 'logger' | 'monitor'
>;

/**
 * Ends the builds of indexes that were left: a process that is gone may have begun them, and what changes the catalog, or waits
 * for earlier writes, would wait for them. One that was sent, and that the server has not begun, is waited for: it would bring
 * an index that the source may have dropped by then.
 */
export async function endLeftBuilds(
  context: EndingBuilds,
  selects: (record: LeftIndexRecord) => boolean = () => true,
): Promise<void> {
  using trouble = context.monitor.troubles.watch('left indexes', 'waiting');
  for (;;) {
    const count = await endOnce(context, selects);
    if (count === 0) return;
    trouble.set(`the destination has not ended ${count} builds of indexes that were left`);
    await sleep(pollMs, context.signal);
  }
}

/** @returns how many there were. */
async function endOnce(
  context: EndingBuilds,
  selects: (record: LeftIndexRecord) => boolean,
): Promise<number> {
  const { catalog, destination, leftIndexes, logger, signal } = context;
  let count = 0;
  for (const record of leftIndexes.records.filter(selects)) {
    const tracked = catalog.collection(record.collection.toHexString(false));
    if (!tracked) continue;
    const { namespace, destinationUuid } = tracked;
    const { name } = record;
    const builds = await listIndexBuilds(destination, namespace, signal);
    if (builds.includes(name)) {
      await dropIndex(context, namespace, name);
      logger.info(
        { namespace: namespaceText(namespace), index: name },
        'the build of an index gives way, and is begun again later',
      );
      count++;
      continue;
    }
    const build = { collectionUUID: destinationUuid ?? undefined, name };
    const isSharded = destination.isSharded;
    count += await backgroundBuildsUnderWay(destination.admin, build, isSharded, signal);
  }
  return count;
}

/** True for an error that is no fault of this program: the next attempt may find the server better. */
function isOfServer(error: unknown): boolean {
  return error instanceof MongoServerError || isTransient(error);
}

function keyOf({ collection, name }: LeftIndexRecord): string {
  return `${collection.toHexString()} ${name}`;
}
