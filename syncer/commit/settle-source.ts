import type { Document, Timestamp } from 'mongodb';
import { listNamespaces, listUserDatabases } from '../../mongo/catalog.ts';
import { isAtMost, resumeTokenTime, writeNoop } from '../../mongo/cluster-time.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { retrying } from '../../mongo/retrying.ts';
import { codeOf, isTransient, serverCode } from '../../mongo/server-errors.ts';
import { isSameSpec, oddNameError } from '../../mongo/specification.ts';
import { messageOf } from '../../service/errors.ts';
import type { SyncContext } from '../context/sync-context.ts';
import {
  createView,
  dropView,
  isViewRefused,
  listViews,
} from '../destination/destination-views.ts';
import {
  type AppliedOpsContext,
  requireNoAppliedOps,
  unreadableOplogWarning,
} from '../source/applied-ops.ts';
import { parseChangeEvent } from '../source/change-event.ts';
import { readChanges } from '../source/change-reader.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { TrackedView } from '../store/records.ts';

/**
 * Lets a commit go on only when all of a replica set's oplog was looked at, from the start of the sync to the time of the commit, and
 * nobody has written there by applyOps. Where the user may not read it, or it is gone, a warning stays that says so. No router
 * shows the oplogs of shards.
 * @throws SyncError ApplyOpsOnSource.
 */
export async function settleAppliedOps(
  context: AppliedOpsContext & Pick<SyncContext, 'logger'>,
  { current: { startTime } }: Pick<LiveSync, 'current'>,
  commitTime: Timestamp,
): Promise<void> {
  if (context.source.isSharded) return;
  if (startTime === null) throw new Error('a sync that is committed has no start time');
  const { logger, options, warn } = context;
  const settle = async (): Promise<void> => {
    try {
      await requireNoAppliedOps(context, startTime, commitTime);
      logger.info({ from: startTime, to: commitTime }, 'all of the oplog was looked at');
    } catch (error) {
      if (codeOf(error) !== serverCode.unauthorized) throw error;
      await warn(unreadableOplogWarning(options));
    }
  };
  await retrying(context, 'commit', settle, isPassing);
}

function isPassing(error: unknown): boolean {
  return isTransient(error) || codeOf(error) === serverCode.maxTimeMsExpired;
}

/**
 * Makes sure that the source has nothing whose name is not UTF-8: no change event tells of a collection that is created
 * under such a name, nor of its documents (6.0.5).
 * @param commitTime - what is read is not older.
 * @throws SyncError NameNotSupported.
 */
export async function refuseOddNames(context: SyncContext, commitTime: Timestamp): Promise<void> {
  const { source, filter, signal } = context;
  for (const db of await listUserDatabases(source, signal, commitTime))
    for (const { kind, namespace } of await listNamespaces(source, db, signal, {}, commitTime))
      if (kind === 'oddlyNamed' && (await filter.selects(namespace)))
        throw oddNameError(namespaceText(namespace));
}

type Views = ReadonlyMap<string, Document>;

/** The changes that tell whether a view was there before them. */
const tellingOperations = ['create', 'modify', 'drop', 'dropDatabase'];

/**
 * Makes the views of the destination those that the source had at the commit's time, once all changes are applied. Change
 * events do not tell of all that becomes of views (see {@link forgetSilentlyDropped}), and the destination may have
 * refused what they told of (see applyViewEvent). May be repeated until users may write.
 * @throws SyncError ViewRefused.
 */
export async function settleViews(context: SyncContext, commitTime: Timestamp): Promise<void> {
  const { catalog, source, destination, signal } = context;
  const databases = new Set(catalog.views().map(({ namespace }) => namespace.db));
  if (databases.size === 0) return;
  const onSource = await viewsOf(source, databases, signal, commitTime);
  await forgetSilentlyDropped(context, onSource, commitTime);
  const present = await viewsOf(destination, databases, signal);
  const missing = catalog.views().filter((view) => !isPresent(view, present));
  // What is left is a part of the source's views, which each of the others goes with: they may be put in any order.
  for (const { namespace } of missing)
    if (present.has(namespaceText(namespace))) await dropView(context, namespace);
  for (const { namespace, options } of missing) {
    try {
      await createView(context, namespace, options);
    } catch (error) {
      if (!isViewRefused(error) || onSource.has(namespaceText(namespace))) throw error;
      await catalog.removeView(namespace);
      await context.warn(
        `the view ${namespaceText(namespace)}, dropped from the source after the commit, is left out: ${messageOf(error)}`,
      );
    }
  }
}

async function viewsOf(
  cluster: SyncContext['source'],
  databases: Iterable<string>,
  signal: AbortSignal,
  after?: Timestamp,
): Promise<Views> {
  const views = new Map<string, Document>();
  for (const db of databases)
    for (const { namespace, options } of await listViews(cluster, db, signal, after))
      views.set(namespaceText(namespace), options);
  return views;
}

function isPresent({ namespace, options }: TrackedView, present: Views): boolean {
  const there = present.get(namespaceText(namespace));
  return there !== undefined && isSameSpec(inOrder(there), inOrder(options));
}

function inOrder(options: Document): Document {
  const { viewOn, pipeline, collation } = options as Readonly<Record<string, unknown>>;
  return { viewOn, pipeline, collation };
}

/**
 * Drops views that the source has not, and of whose drop no event told: the collection of views, `system.views`, was dropped
 * (seen on 6.0.5). What is missing on the source may also have been dropped after the commit. There the first event
 * since then is of a view that stood.
 */
async function forgetSilentlyDropped(
  context: SyncContext,
  onSource: Views,
  commitTime: Timestamp,
): Promise<void> {
  const { catalog, logger } = context;
  const missing = catalog
    .views()
    .filter(({ namespace }) => !onSource.has(namespaceText(namespace)));
  if (missing.length === 0) return;
  const stood = await stoodAt(context, missing, commitTime);
  for (const { namespace } of missing.filter((view) => !stood.has(view))) {
    await dropView(context, namespace);
    await catalog.removeView(namespace);
    logger.info({ namespace: namespaceText(namespace) }, 'view dropped: gone without an event');
  }
}

/** Those of some views that stood on the source at a time, by what its change events have told of them since. */
async function stoodAt(
  context: SyncContext,
  views: readonly TrackedView[],
  time: Timestamp,
): Promise<ReadonlySet<TrackedView>> {
  const { source, signal, monitor } = context;
  const end = await writeNoop(source, 'views', signal);
  const undecided = new Set(views);
  const stood = new Set<TrackedView>();
  const match = { operationType: { $in: tellingOperations } };
  for await (const { events, token } of readChanges(context, { at: time }, { match })) {
    for (const raw of events) {
      const event = parseChangeEvent(raw);
      if (event.type !== 'catalog' || isAtMost(event.time, time)) continue;
      const { operation, namespace, uuid } = event;
      for (const view of undecided) {
        if (view.namespace.db !== namespace.db) continue;
        if (operation !== 'dropDatabase' && view.namespace.coll !== namespace.coll) continue;
        // Of a collection, which came there.
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
