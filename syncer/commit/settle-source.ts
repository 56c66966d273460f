import type { Document, Timestamp } from 'mongodb';
import type { ViewInfo } from '../../mongo/catalog.ts';
import { isAtMost, resumeTokenTime } from '../../mongo/cluster-time.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { codeOf, isTransient, serverCode } from '../../mongo/server-errors.ts';
import { isSameSpec } from '../../mongo/specification.ts';
import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { isViewRefused } from '../destination/destination-views.ts';
import type { Destination } from '../destination/destination.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { unreadableOplogWarning } from '../source/applied-ops.ts';
import { parseChangeEvent } from '../source/change-event.ts';
import type { Source } from '../source/source.ts';
import type { TrackedView } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';

/** What settling the source needs. */
interface SettlementParts {
  readonly source: Source;
  readonly destination: Destination;
  readonly catalog: TrackedCatalog;
  readonly store: WorkStore;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
}

type Views = ReadonlyMap<string, Document>;

/** The changes that show whether a view existed before them. */
const tellingOperations = ['create', 'modify', 'drop', 'dropDatabase'];

/** Once all changes up to the commit's time are applied, settles what no change event reports of the source. */
export class SourceSettlement {
  readonly #parts: SettlementParts;

  constructor(parts: SettlementParts) {
    this.#parts = parts;
  }

  /**
   * Lets a commit continue only if all of a replica set's oplog was read, from the start of the sync to the time of the commit,
   * and nobody has written there by applyOps. If the user may not read the oplog, or it is gone, a warning remains that says
   * so. No router shows the oplogs of shards.
   * @throws SyncError ApplyOpsOnSource.
   */
  async settleAppliedOps(commitTime: Timestamp): Promise<void> {
    const { source, store, logger } = this.#parts;
    const { startTime, options } = store.live.current;
    if (!source.kind.hasReadableOplog) return;
    if (startTime === null) throw new Error('a sync that is committed has no start time');
    const settle = async (): Promise<void> => {
      try {
        await source.requireNoAppliedOps(startTime, commitTime);
        logger.info({ from: startTime, to: commitTime }, 'the whole oplog was checked');
      } catch (error) {
        if (codeOf(error) !== serverCode.unauthorized) throw error;
        await store.warn(unreadableOplogWarning(options));
      }
    };
    await source.ask('commit', settle, isPassing);
  }

  /**
   * Settles names and views, and retries after temporary errors of the destination: as long as the source is needed anyway.
   * @throws SyncError NameNotSupported; ViewRefused.
   */
  async settleNames(commitTime: Timestamp): Promise<void> {
    await this.#parts.destination.step('commit', async () => {
      await this.#parts.source.catalog.refuseOddNames(commitTime);
      await this.#settleViews(commitTime);
    });
  }

  /**
   * Makes the views of the destination those that the source had at the commit's time, once all changes are applied. Change
   * events do not report everything that happens to views (see {@link forgetSilentlyDropped}), and the destination may have
   * refused what they reported (see syncer/ddl/apply-view-event.ts). May be repeated until users may write.
   * @throws SyncError ViewRefused.
   */
  async #settleViews(commitTime: Timestamp): Promise<void> {
    const { catalog, source, store } = this.#parts;
    const { views } = this.#parts.destination;
    const databases = new Set(catalog.views().map(({ namespace }) => namespace.db));
    if (databases.size === 0) return;
    const onSource = await viewsIn(
      databases,
      async (db) => await source.catalog.viewsOf(db, commitTime),
    );
    await this.#forgetSilentlyDropped(onSource, commitTime);
    const present = await viewsIn(databases, async (db) => await views.list(db));
    const missing = catalog.views().filter((view) => !isPresent(view, present));
    // What is left is a part of the source's views, each of which fits with the others: they may be put in any order.
    for (const { namespace } of missing)
      if (present.has(namespaceText(namespace))) await views.drop(namespace);
    for (const { namespace, options } of missing) {
      try {
        await views.create(namespace, options);
      } catch (error) {
        if (!isViewRefused(error) || onSource.has(namespaceText(namespace))) throw error;
        await catalog.removeView(namespace);
        await store.warn(
          `the view ${namespaceText(namespace)}, dropped from the source after the commit, is omitted: ${messageOf(error)}`,
        );
      }
    }
  }

  /**
   * Drops views that the source does not have, and whose drop no event reported: the collection of views, `system.views`, was
   * dropped (seen on 6.0.5). A view that is missing on the source may also have been dropped after the commit. In that case the
   * first event since then is about a view that existed.
   */
  async #forgetSilentlyDropped(onSource: Views, commitTime: Timestamp): Promise<void> {
    const { catalog, logger } = this.#parts;
    const { views } = this.#parts.destination;
    const missing = catalog
      .views()
      .filter(({ namespace }) => !onSource.has(namespaceText(namespace)));
    if (missing.length === 0) return;
    const stood = await this.#stoodAt(missing, commitTime);
    for (const { namespace } of missing.filter((view) => !stood.has(view))) {
      await views.drop(namespace);
      await catalog.removeView(namespace);
      logger.info(
        { namespace: namespaceText(namespace) },
        'view dropped: removed without an event',
      );
    }
  }

  /** The views that existed on the source at a time, according to its change events since. */
  async #stoodAt(
    views: readonly TrackedView[],
    time: Timestamp,
  ): Promise<ReadonlySet<TrackedView>> {
    const { source, monitor } = this.#parts;
    const end = await source.writeNoop('views');
    const undecided = new Set(views);
    const stood = new Set<TrackedView>();
    const match = { operationType: { $in: tellingOperations } };
    for await (const { events, token } of source.changes({ at: time }, { match })) {
      for (const raw of events) {
        const event = parseChangeEvent(raw);
        if (event.type !== 'catalog' || isAtMost(event.time, time)) continue;
        const { operation, namespace, uuid } = event;
        for (const view of undecided) {
          if (view.namespace.db !== namespace.db) continue;
          if (operation !== 'dropDatabase' && view.namespace.coll !== namespace.coll) continue;
          // About a collection, which took the name.
          if (uuid !== undefined && operation !== 'create') continue;
          undecided.delete(view);
          if (operation !== 'create') stood.add(view);
        }
      }
      monitor.forgetBuffered();
      if (isAtMost(end, resumeTokenTime(token))) break;
    }
    return stood;
  }
}

async function viewsIn(
  databases: Iterable<string>,
  list: (db: string) => Promise<readonly ViewInfo[]>,
): Promise<Views> {
  const views = new Map<string, Document>();
  for (const db of databases)
    for (const { namespace, options } of await list(db))
      views.set(namespaceText(namespace), options);
  return views;
}

function isPassing(error: unknown): boolean {
  return isTransient(error) || codeOf(error) === serverCode.maxTimeMsExpired;
}

function isPresent({ namespace, options }: TrackedView, present: Views): boolean {
  const there = present.get(namespaceText(namespace));
  return there !== undefined && isSameSpec(inOrder(there), inOrder(options));
}

function inOrder(options: Document): Document {
  const { viewOn, pipeline, collation } = options as Readonly<Record<string, unknown>>;
  return { viewOn, pipeline, collation };
}
