import { isDeepStrictEqual } from 'node:util';
import type { Document, Timestamp } from 'mongodb';
import { isAtMost, resumeTokenText, resumeTokenTime } from '../../mongo/cluster-time.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { longWorkMs } from '../../mongo/troubles.ts';
import { changesOf } from '../instances/share.ts';
import { retryingWrites } from '../destination/earlier-writes.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { applyCatalogEvent } from '../ddl/apply-catalog-event.ts';
import { finishCollections } from './finish-collections.ts';
import { ChangeApplier } from './apply-changes.ts';
import { changesBefore, partsOf, type BatchPart } from './batch-parts.ts';
import { sizeOfChange, type CatalogEvent } from '../source/change-event.ts';
import { ChangeLanes, type OpenPosition, type StreamPosition } from './change-lanes.ts';
import { readChanges, type StreamStart } from '../source/change-reader.ts';
import { checkResharded } from '../source/check-resharded.ts';
import { LeftIndexBuilder } from '../ddl/left-index-builder.ts';
import { ChangeRouter, type RoutedChange } from './change-router.ts';
import { Checkpoints } from './checkpoints.ts';
import { logEvent } from './log-event.ts';

/** Bytes of events read and not applied, at which no more are read. A batch that is on its way comes on top. */
const maxBufferedBytes = 48 * 1024 * 1024;

/** What a lane applies at a time: much enough that round trips do not count, little enough that lanes end together. */
const maxLaneChanges = 2_000;
const maxLaneBytes = 4 * 1024 * 1024;

/** What ends the applying of changes. */
export interface ChangesEnd {
  /** True when they are to end as soon as what was applied can be stored. */
  readonly isPausing: () => boolean;
  /** The cluster time that they end before; null where all that was read before the call is earlier than it will be. */
  readonly commitTime: (signal: AbortSignal) => Promise<Timestamp | null>;
}

/**
 * Applies the source's change events from `start` on: all before the commit time, and none later. What was applied is
 * stored as it goes; the last checkpoint covers that time.
 *
 * Batches of the stream are fetched, taken apart into lanes and applied at the same time. What holds it together:
 * - changes of one document are in one lane, and a lane keeps their order (ChangeRouter, ChangeLanes);
 * - a change of the catalog is a barrier: all changes before it are applied first, none after it is looked at before;
 * - a resume token is stored only when a majority of the destination has all that it covers (every write waits for a
 *   majority; Checkpoints);
 * - everything may be applied again from an older token (ChangeApplier).
 *
 * The operations of a transaction have one cluster time and follow each other in the stream. They go to their lanes like
 * others: during the sync a reader of the destination may see a part of them. After the commit none does: whether the
 * events of a batch are before it is asked after the batch has been read, and before any of them is applied. So those
 * applied without knowing are all before it; where it is known, those that are not are left out. A transaction is wholly
 * on one side, whatever batches it comes in.
 */
export async function followChanges(
  context: SyncContext,
  start: StreamStart,
  { isPausing, commitTime }: ChangesEnd,
): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  const follower = new ChangeFollower({ ...context, signal }, (error) => {
    failed.abort(error);
  });
  let match = changesOfShare(context);
  let batches = readChanges({ ...context, signal }, start, { match });
  try {
    let fetched = batches.next();
    for (;;) {
      const { value: batch } = await fetched;
      // The next batch is fetched while this one is applied.
      fetched = batches.next();
      fetched.catch(() => undefined);
      const end = await commitTime(signal);
      const isEnd = end !== null && isAtMost(end, resumeTokenTime(batch.token));
      const parts = partsOf(isEnd ? changesBefore(batch, end) : batch);
      for (const part of parts) {
        const position = await follower.take(part);
        const matchNow = part.catalogEvent ? changesOfShare(context) : match;
        const isOutdated = !isDeepStrictEqual(matchNow, match);
        const isLast = part === parts.at(-1);
        const isDone = isPausing() || (isEnd && isLast);
        if (isDone || isOutdated || (isLast && parts.length > 1)) await follower.finish(position);
        // Before a commit what is being built ends: it would have to be begun again.
        if (isDone && !isPausing()) await follower.finishBuilds();
        if (isDone) return;
        if (!isOutdated) continue;
        // From here on this instance applies others: what has been read goes by what was before.
        match = matchNow;
        await batches.return(undefined as never).catch(() => undefined);
        context.monitor.forgetBuffered();
        batches = readChanges({ ...context, signal }, { after: position.token }, { match });
        fetched = batches.next();
        fetched.catch(() => undefined);
        break;
      }
    }
  } finally {
    failed.abort(new Error('no more changes are followed'));
    await follower.stop();
    await batches.return(undefined as never).catch(() => undefined);
    context.monitor.forgetBuffered();
  }
}

function changesOfShare({ coordination, catalog }: SyncContext): Document | undefined {
  return changesOf(coordination.share, catalog.collections());
}

class ChangeFollower {
  readonly #context: SyncContext;
  readonly #lanes: ChangeLanes<RoutedChange>;
  readonly #router: ChangeRouter;
  readonly #checkpoints: Checkpoints;
  readonly #builder: LeftIndexBuilder;
  /** All that was taken. */
  #last: StreamPosition | undefined;

  constructor(context: SyncContext, failed: (error: unknown) => void) {
    this.#context = context;
    const { catalog, tuning, monitor } = context;
    const applier = new ChangeApplier(context);
    this.#checkpoints = new Checkpoints(context, failed);
    this.#builder = new LeftIndexBuilder(context, failed);
    this.#router = new ChangeRouter(catalog, tuning.lanes);
    this.#lanes = new ChangeLanes({
      lanes: tuning.lanes,
      maxChanges: maxLaneChanges,
      maxBytes: maxLaneBytes,
      bytesOf: ({ change }) => sizeOfChange(change),
      apply: async (changes) => {
        await applier.apply(changes);
      },
      reached: (position) => {
        monitor.endBatch();
        this.#checkpoints.reached(position);
      },
      failed,
    });
  }

  /** Takes a part of a batch of the stream to the lanes. Resolves when there is room for another one. */
  async take({ changes, bytes, token, catalogEvent }: BatchPart): Promise<StreamPosition> {
    const { monitor, logger } = this.#context;
    const position = this.#lanes.open(
      { token, time: resumeTokenTime(token) },
      { events: catalogEvent ? 1 : changes.length, bytes },
    );
    monitor.beginBatch(position);
    if (logger.isLevelEnabled('debug'))
      for (const { raw, event } of catalogEvent ? [catalogEvent] : changes)
        logEvent(logger, raw, event);
    if (catalogEvent) await this.#applyCatalogEvent(catalogEvent.event, position);
    else this.#route(changes, position);
    this.#lanes.start();
    await this.#lanes.roomBelow(maxBufferedBytes);
    this.#last = position;
    return position;
  }

  /** Waits until all that was taken is applied, and stores that. */
  async finish(position: StreamPosition): Promise<void> {
    await this.#lanes.drain();
    await this.#checkpoints.save(position);
  }

  /** Waits until no index is being built any more. */
  async finishBuilds(): Promise<void> {
    await this.#builder.finish();
  }

  async stop(): Promise<void> {
    await this.#builder.finish();
    await this.#lanes.stop();
    await this.#checkpoints.stop();
  }

  /** Takes changes of documents to their lanes. */
  #route(changes: BatchPart['changes'], position: OpenPosition): void {
    const { catalog, source } = this.#context;
    for (const { raw, event } of changes) {
      const routed = this.#router.route(event);
      if (routed) {
        this.#lanes.add(routed.lane, routed, position);
      } else {
        if (source.isSharded) checkResharded(catalog, event.collection, raw);
        this.#lanes.pass(position);
      }
    }
  }

  async #applyCatalogEvent(event: CatalogEvent, position: OpenPosition): Promise<void> {
    const { coordination, monitor } = this.#context;
    await this.#lanes.drain();
    // Whoever is restarted repeats nothing of what was before the change. Other instances rely on that; and an update that is
    // repeated once the destination has a rename, and the state does not yet, would meet nothing under the old name, and
    // put the document there.
    if (this.#last) await this.#checkpoints.save(this.#last);
    const work = `${event.operation} of ${namespaceText(event.namespace)}`;
    const place = { text: resumeTokenText(position.token), time: position.time };
    await coordination.meet(place, async () => {
      await retryingWrites(this.#context, 'catalog change', async (attempt) => {
        using trouble = monitor.troubles.watch(work, 'waiting', longWorkMs);
        trouble.set('this change of the catalog has not ended');
        await this.#builder.aside(event, async () => {
          // What the attempt that failed has begun. Before the first one, all is finished.
          if (attempt > 0) await finishCollections(this.#context);
          await applyCatalogEvent(this.#context, event);
        });
      });
    });
    this.#router.forget();
    monitor.addEvents(event.operation, 1);
    this.#lanes.pass(position);
  }
}
