import { isAtMost } from '../../mongo/cluster-time.ts';
import { listNamed, type NamespaceInfo } from '../../mongo/catalog.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { SyncError } from '../../service/errors.ts';
import { timeSeriesError } from '../source/read-catalog.ts';
import {
  createView,
  dropView,
  isRefusedForOthers,
  isViewRefused,
  modifyView,
} from '../destination/destination-views.ts';
import type { SyncContext } from '../context/sync-context.ts';
import type { CatalogEvent } from '../source/change-event.ts';
import { latestKnownTime } from '../source/read-concern.ts';

/**
 * Applies the creation, change or drop of a view: the events without a collection's UUID.
 *
 * The destination may refuse one that is applied over a later catalog: other views of the source stand there that came
 * after it. It is left out, and what the source has at the commit is put then (settleViews).
 * @throws SyncError TimeSeriesNotSupported: a time-series collection shows as a view on its buckets. Once it is dropped on
 * the source, its events are passed over. ViewRefused where the destination refuses it in itself, until it is dropped on
 * the source.
 */
export async function applyViewEvent(context: SyncContext, event: CatalogEvent): Promise<void> {
  const { namespace, operation, description, time } = event;
  if (!(await context.filter.selects(namespace))) return;
  const view = context.catalog.view(namespace);
  if (view && isAtMost(time, view.specifiedAt)) return;
  switch (operation) {
    case 'create': {
      if (description['viewOn'] === `system.buckets.${namespace.coll}`) {
        if ((await findNow(context, namespace))?.kind === 'timeseries')
          throw timeSeriesError(namespace);
        // It is gone by now, so that there is nothing to lose.
        return;
      }
      // A collection stands there in the catalog, which is later: the view is gone again by then.
      if (context.catalog.collectionAt(namespace)) return;
      await unlessLeftOut(context, namespace, async () => {
        await createView(context, namespace, description);
      });
      await context.catalog.putView({
        namespace,
        options: description,
        specifiedAt: time,
        specifiedBy: time,
      });
      return;
    }
    case 'modify':
      if (!view) return;
      await unlessLeftOut(context, namespace, async () => {
        await modifyView(context, namespace, description);
      });
      await context.catalog.putView({
        ...view,
        options: { ...view.options, ...description },
        specifiedAt: time,
        specifiedBy: time,
      });
      return;
    case 'drop':
      if (!view) return;
      await dropView(context, namespace);
      await context.catalog.removeView(namespace);
      return;
    default:
      throw new SyncError(
        'ChangeNotSupported',
        `${operation} of ${namespaceText(namespace)} on the source cannot be followed`,
      );
  }
}

/** Puts a view, unless the destination refuses it for a reason that may pass with later events. */
async function unlessLeftOut(
  context: SyncContext,
  namespace: Namespace,
  put: () => Promise<void>,
): Promise<void> {
  try {
    await put();
  } catch (error) {
    if (!isViewRefused(error)) throw error;
    if (!isRefusedForOthers(error) && (await findNow(context, namespace))?.kind === 'view')
      throw error;
    context.logger.debug({ reason: error.message }, 'view is left to the commit');
  }
}

/** What the source has at a name by now. */
async function findNow(
  context: SyncContext,
  { db, coll }: Namespace,
): Promise<NamespaceInfo | undefined> {
  const { source, signal } = context;
  const [now] = await listNamed(source, db, [coll], signal, latestKnownTime(context));
  return now;
}
