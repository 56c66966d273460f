import type { Timestamp } from 'mongodb';
import { isAtMost, resumeTokenTime } from '../../mongo/cluster-time.ts';
import { retryingWrites } from '../earlier-writes.ts';
import type { SyncContext } from '../sync-context.ts';
import { applyCatalogEvent } from './apply-catalog-event.ts';
import { ChangeApplier } from './apply-changes.ts';
import { sizeOfChange, parseChangeEvent } from './change-event.ts';
import { ChangeLanes, type OpenPosition, type StreamPosition } from './change-lanes.ts';
import { readChanges, type ChangeBatch, type StreamStart } from './change-reader.ts';
import { checkResharded } from './check-resharded.ts';
import { ChangeRouter, type RoutedChange } from './change-router.ts';
import { Checkpoints } from './checkpoints.ts';
import { logEvent } from './log-event.ts';

/** Bytes of events read and not applied, at which no more are read. A batch that is on its way comes on top. */
const maxBufferedBytes = 48 * 1024 * 1024;

/** What a lane applies at a time: much enough that round trips do not count, little enough that lanes end together. */
const maxLaneChanges = 2_000;
const maxLaneBytes = 4 * 1024 * 1024;

/**
 * Applies the source's change events from `start` on, until the cluster time that `until` gives has been reached (null:
 * not known yet). What was applied is stored as it goes; the last checkpoint covers that time.
 *
 * Batches of the stream are fetched, taken apart into lanes and applied at the same time. What holds it together:
 * - changes of one document are in one lane, and a lane keeps their order (ChangeRouter, ChangeLanes);
 * - a change of the catalog is a barrier: all changes before it are applied first, none after it is looked at before;
 * - a resume token is stored only when a majority of the destination has all that it covers (every write waits for a
 *   majority; Checkpoints);
 * - everything may be applied again from an older token (ChangeApplier).
 *
 * The operations of a transaction have one cluster time and follow each other in the stream. They go to their lanes like
 * others: during the sync a reader of the destination may see a part of them. After the commit none does: it ends at a
 * batch whose token is not earlier than the commit time, which is the time of a write of its own, so that a transaction
 * is wholly before it and applied, or wholly after it and not.
 */
export async function followChanges(
  context: SyncContext,
  start: StreamStart,
  until: () => Timestamp | null,
): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  const follower = new ChangeFollower({ ...context, signal }, (error) => {
    failed.abort(error);
  });
  const batches = readChanges({ ...context, signal }, start);
  try {
    let fetched = batches.next();
    for (;;) {
      const { value: batch } = await fetched;
      // The next batch is fetched while this one is applied.
      fetched = batches.next();
      fetched.catch(() => undefined);
      const position = await follower.take(batch);
      const end = until();
      if (end === null || !isAtMost(end, position.time)) continue;
      await follower.finish(position);
      return;
    }
  } finally {
    failed.abort(new Error('no more changes are followed'));
    await follower.stop();
    await batches.return(undefined as never).catch(() => undefined);
    context.monitor.forgetBuffered();
  }
}

class ChangeFollower {
  readonly #context: SyncContext;
  readonly #lanes: ChangeLanes<RoutedChange>;
  readonly #router: ChangeRouter;
  readonly #checkpoints: Checkpoints;

  constructor(context: SyncContext, failed: (error: unknown) => void) {
    this.#context = context;
    const { catalog, tuning, monitor } = context;
    const applier = new ChangeApplier(context);
    this.#checkpoints = new Checkpoints(context, failed);
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

  /** Takes a batch of the stream to the lanes. Resolves when there is room for another one. */
  async take({ events, bytes, token }: ChangeBatch): Promise<StreamPosition> {
    const position = this.#lanes.open(
      { token, time: resumeTokenTime(token) },
      { events: events.length, bytes },
    );
    this.#context.monitor.beginBatch(position);
    const hadCatalogEvents = await this.#route(events, position);
    this.#lanes.start();
    if (hadCatalogEvents) await this.finish(position);
    else await this.#lanes.roomBelow(maxBufferedBytes);
    return position;
  }

  /** Waits until all that was taken is applied, and stores that. */
  async finish(position: StreamPosition): Promise<void> {
    await this.#lanes.drain();
    await this.#checkpoints.save(position);
  }

  async stop(): Promise<void> {
    await this.#lanes.stop();
    await this.#checkpoints.stop();
  }

  /** Takes events to their lanes. True when there was a change of the catalog among them. */
  async #route(events: ChangeBatch['events'], position: OpenPosition): Promise<boolean> {
    const { catalog, logger, monitor, sourceShards } = this.#context;
    const isLoggingEvents = logger.isLevelEnabled('debug');
    let hadCatalogEvents = false;
    for (const raw of events) {
      const event = parseChangeEvent(raw);
      if (isLoggingEvents) logEvent(logger, raw, event);
      if (event.type === 'document') {
        const routed = this.#router.route(event);
        if (routed) {
          this.#lanes.add(routed.lane, routed, position);
        } else {
          if (sourceShards.length > 0) checkResharded(catalog, raw);
          this.#lanes.pass(position);
        }
        continue;
      }
      await this.#lanes.drain();
      await retryingWrites(this.#context, 'catalog change', async () => {
        await applyCatalogEvent(this.#context, event);
      });
      this.#router.forget();
      monitor.addEvents(event.operation, 1);
      this.#lanes.pass(position);
      hadCatalogEvents = true;
    }
    return hadCatalogEvents;
  }
}
