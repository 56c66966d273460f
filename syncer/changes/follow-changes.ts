import { isDeepStrictEqual } from 'node:util';
import type { Document } from 'mongodb';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import { isAtMost, resumeTokenText, resumeTokenTime } from '../../mongo/cluster-time.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { longWorkMs } from '../../mongo/retry-warnings.ts';
import { changesOf, type Coordination } from '../instances/coordination.ts';
import type { Logger } from '../../service/logger.ts';
import {
  ConcurrencyLimit,
  exactly,
  type ConcurrencyRange,
} from '../../service/concurrency-limit.ts';
import type { CatalogChanges } from '../ddl/apply-catalog-event.ts';
import type { Destination } from '../destination/destination.ts';
import type { WorkPace } from '../limits/pace.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';
import { ChangeApplier } from './apply-changes.ts';
import {
  changesBefore,
  partsOf,
  readBatch,
  type BatchPart,
  type ReadBatch,
} from './batch-parts.ts';
import { sizeOfChange, type CatalogEvent, type DocumentChange } from '../source/change-event.ts';
import { isAppliedInOrder, type TrackedCollection } from '../store/records.ts';
import { ChangeQueues } from './change-queues.ts';
import { Checkpoints } from './checkpoints.ts';
import { compactChanges, type CompactChanges } from './compact-changes.ts';
import type { OpenPosition, StreamPosition } from './stream-positions.ts';
import type { ChangeBatch, StreamStart } from '../source/change-reader.ts';
import { LeftIndexBuilder } from '../ddl/left-index-builder.ts';
import { logEvent } from './log-event.ts';

/**
 * Reading stops when changes that are not applied hold this much memory: so many that commands have enough of them even in 1,000
 * collections. A batch of events that is on its way comes on top.
 */
const maxBufferedBytes = 48 * 1024 * 1024;

/**
 * What a position in the stream counts for until it is reached, whether or not its events are of tracked collections. It takes a
 * quarter of that; but lists of more than some 12,000 positions would be slow.
 */
const positionBytes = 4_000;

/**
 * How many changes are applied at a time. Fewer cost the servers more each; more are longer under way than needed. Together they
 * hold less than half of what is read, so that there is always something to take.
 */
const batchSize = {
  minChanges: 250,
  maxChanges: 2_000,
  minBytes: 128 * 1024,
  maxBytesOfAll: 16 * 1024 * 1024,
};

/**
 * How many batches are under way if nobody has chosen. At first as many as a destination nearby bears. A batch sends three
 * commands side by side at most, and each needs a connection: a pool has 256 (cluster-client.ts), and what asks for the right to
 * write must never wait for one.
 */
const batchesUnderWay: ConcurrencyRange = { min: 4, initial: 16, max: 64 };

/** What applying changes needs. */
export interface FollowParts {
  readonly source: Source;
  readonly destination: Destination;
  readonly catalog: TrackedCatalog;
  readonly store: WorkStore;
  readonly catalogChanges: CatalogChanges;
  readonly coordination: Coordination;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly pace: WorkPace;
  /** How many batches of changes are applied at the same time; undefined for as many as the destination bears. */
  readonly applyWorkers: number | undefined;
  readonly signal: AbortSignal;
}

/** When to end applying changes. */
export interface ChangesEnd {
  /** True if they should end as soon as what was applied can be stored. */
  readonly isPausing: () => boolean;
}

/**
 * Applies the source's change events from `start` on: all before the commit time, and none later. Progress is stored along the
 * way; the last checkpoint covers that time.
 *
 * Batches of the stream are fetched, divided into queues by collection and applied at the same time. These rules make that safe:
 * - changes of one document are applied in their order (ChangeQueues);
 * - a change of the catalog is a barrier: all changes before it are applied first, none after it is looked at before;
 * - a resume token is stored only when a majority of the destination has everything that it covers (every write waits for a
 *   majority; Checkpoints);
 * - everything may be applied again from an older token (ChangeApplier).
 *
 * The operations of a transaction have one cluster time and follow each other in the stream. They are queued like
 * others: during the sync a reader of the destination may see a part of them. After the commit no reader does: the commit time
 * is looked up after a batch has been read, and before any of its events is applied. So events that are applied while the time
 * is unknown are all before it; once it is known, later ones are left out. A transaction is wholly on one side, whatever
 * batches it comes in.
 */
export async function followChanges(
  parts: FollowParts,
  start: StreamStart,
  { isPausing }: ChangesEnd,
): Promise<void> {
  const { coordination, catalog, monitor } = parts;
  const failed = new AbortController();
  const signal = AbortSignal.any([parts.signal, failed.signal]);
  const source = parts.source.within(signal);
  const store = parts.store.within(signal);
  const destination = parts.destination.within(signal);
  const catalogChanges = parts.catalogChanges.within(signal);
  const pace = parts.pace.within(signal);
  const own = { ...parts, source, destination, store, catalogChanges, pace, signal };
  const follower = new ChangeFollower(own, (error) => {
    failed.abort(error);
  });
  const wanted = (): Document | undefined => changesOf(coordination.share, catalog.collections());
  const read = (from: StreamStart): AsyncGenerator<ChangeBatch, never> =>
    source.changes(from, { match });
  let match = wanted();
  let batches = read(start);
  try {
    let fetched = batches.next();
    for (;;) {
      const { value: fetchedBatch } = await fetched;
      let batch: ReadBatch;
      try {
        batch = readBatch(fetchedBatch);
      } catch (error) {
        if (!(error instanceof MalformedAnswer)) throw error;
        // The reader opens the stream again where this batch began: nothing of it has been looked at.
        fetched = batches.throw(error);
        continue;
      }
      // The next batch is fetched while this one is applied.
      fetched = batches.next();
      fetched.catch(() => undefined);
      const end = await store.awaitCommitTime();
      const isEnd = end !== null && isAtMost(end, resumeTokenTime(batch.token));
      const parts = partsOf(isEnd ? changesBefore(batch, end) : batch);
      for (const part of parts) {
        const position = await follower.take(part);
        const matchNow = part.catalogEvent ? wanted() : match;
        const isOutdated = !isDeepStrictEqual(matchNow, match);
        const isLast = part === parts.at(-1);
        const isDone = isPausing() || (isEnd && isLast);
        if (isDone || isOutdated || (isLast && parts.length > 1)) await follower.finish(position);
        // Before a commit, wait for running index builds: the commit would have to start them again.
        if (isDone && !isPausing()) await follower.finishBuilds();
        if (isDone) return;
        if (!isOutdated) continue;
        // From here on this instance applies other changes: what was read matches the previous filter.
        match = matchNow;
        await batches.return(undefined as never).catch(() => undefined);
        monitor.forgetBuffered();
        batches = read({ after: position.token });
        fetched = batches.next();
        fetched.catch(() => undefined);
        break;
      }
    }
  } finally {
    failed.abort(new Error('changes are no longer followed'));
    await follower.stop();
    await batches.return(undefined as never).catch(() => undefined);
    monitor.forgetBuffered();
  }
}

/** A change of a collection that is tracked. */
interface TrackedChange {
  readonly collection: TrackedCollection;
  readonly change: DocumentChange;
}

class ChangeFollower {
  readonly #parts: FollowParts;
  readonly #queues: ChangeQueues<TrackedCollection, DocumentChange>;
  /** By UUID, as the catalog has them; undefined for one that is not tracked. */
  readonly #collections = new Map<string, TrackedCollection | undefined>();
  readonly #checkpoints: Checkpoints;
  readonly #builder: LeftIndexBuilder;
  /** The last position taken. */
  #last: StreamPosition | undefined;

  constructor(parts: FollowParts, failed: (error: unknown) => void) {
    const { source, destination, store, monitor, logger, pace } = parts;
    const { applyWorkers } = parts;
    const applier = new ChangeApplier(source, destination, monitor, logger);
    this.#parts = parts;
    this.#checkpoints = new Checkpoints(store, monitor, failed);
    this.#builder = new LeftIndexBuilder(parts, failed);
    const range = applyWorkers === undefined ? batchesUnderWay : exactly(applyWorkers);
    this.#queues = new ChangeQueues<TrackedCollection, DocumentChange>({
      ...batchSize,
      limit: new ConcurrencyLimit(range),
      most: () => ({ batches: pace.concurrentBatches, changes: pace.changes }),
      bytesOf: sizeOfChange,
      documentOf: ({ key }) => key.canonical,
      isInOrder: isAppliedInOrder,
      apply: async (collection, changes) => {
        await pace.apply(changes.length);
        await applier.apply(collection, changes);
      },
      reached: (position) => {
        monitor.endBatch();
        this.#checkpoints.reached(position);
      },
      failed,
    });
  }

  /** Takes a part of a batch of the stream to the queues. Resolves when there is room for another one. */
  async take({ changes, bytes, token, catalogEvent }: BatchPart): Promise<StreamPosition> {
    const { monitor, logger } = this.#parts;
    const tracked = this.#trackedOf(changes);
    const compact = compactChanges(tracked.map(({ change }) => change));
    const position = this.#queues.open(
      { token, time: resumeTokenTime(token) },
      catalogEvent
        ? { events: 1, bytes }
        : { events: changes.length, bytes: compact.bytes + positionBytes },
    );
    monitor.beginBatch(position, bytes);
    if (logger.isLevelEnabled('debug'))
      for (const { raw, event } of catalogEvent ? [catalogEvent] : changes)
        logEvent(logger, raw, event);
    if (catalogEvent) await this.#applyCatalogEvent(catalogEvent.event, position);
    else this.#queue(tracked, compact, position);
    this.#queues.start();
    await this.#queues.roomBelow(maxBufferedBytes);
    this.#last = position;
    return position;
  }

  /** Waits until everything taken is applied, and stores that. */
  async finish(position: StreamPosition): Promise<void> {
    await this.#queues.drain();
    await this.#checkpoints.save(position);
  }

  /** Waits until no index is being built. */
  async finishBuilds(): Promise<void> {
    await this.#builder.finish();
  }

  async stop(): Promise<void> {
    await this.#builder.finish();
    await this.#queues.stop();
    await this.#checkpoints.stop();
  }

  /** The changes of tracked collections. */
  #trackedOf(changes: BatchPart['changes']): TrackedChange[] {
    const { kind } = this.#parts.source;
    return changes.flatMap(({ raw, event }) => {
      const collection = this.#collectionOf(event.collection);
      if (collection) return [{ collection, change: event.change }];
      kind.checkUnknown(event.collection, raw);
      return [];
    });
  }

  /** Takes changes to the queues of their collections, and skips the other events of their position. */
  #queue(
    tracked: readonly TrackedChange[],
    { changes }: CompactChanges,
    position: OpenPosition,
  ): void {
    for (const [index, { collection }] of tracked.entries()) {
      const change = changes[index];
      if (change) this.#queues.add(collection, change, position);
    }
    this.#queues.skip(position, position.events - tracked.length);
  }

  /** Undefined for a collection that is not tracked: outside the filter, or dropped before the catalog was read. */
  #collectionOf(uuid: string): TrackedCollection | undefined {
    const known = this.#collections.get(uuid);
    if (known || this.#collections.has(uuid)) return known;
    const collection = this.#parts.catalog.collection(uuid);
    this.#collections.set(uuid, collection);
    return collection;
  }

  async #applyCatalogEvent(event: CatalogEvent, position: OpenPosition): Promise<void> {
    const { coordination, destination, catalogChanges, monitor } = this.#parts;
    await this.#queues.drain();
    // A restarted instance repeats nothing from before the change. Other instances rely on that. Also, if an update was
    // repeated after the rename reached the destination, but not the state, it would find nothing under the old name, and put
    // the document there.
    if (this.#last) await this.#checkpoints.save(this.#last);
    const work = `${event.operation} of ${namespaceText(event.namespace)}`;
    const place = { text: resumeTokenText(position.token), time: position.time };
    await coordination.meet(place, async () => {
      await destination.step('catalog change', async (attempt) => {
        using warning = monitor.retryWarnings.watch(work, 'waiting', longWorkMs);
        warning.set('this catalog change has not completed');
        await this.#builder.aside(event, async () => {
          // What the failed attempt has started. Before the first attempt everything is finished.
          if (attempt > 0) await catalogChanges.finishCollections();
          await catalogChanges.apply(event);
        });
      });
    });
    this.#collections.clear();
    monitor.addEvents(event.operation, 1);
    this.#queues.skip(position, 1);
  }
}
