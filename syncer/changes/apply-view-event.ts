import { isAtMost } from '../../mongo/cluster-time.ts';
import { listNamespaces } from '../../mongo/catalog.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { SyncError } from '../../service/errors.ts';
import { timeSeriesError } from '../catalog/build-catalog.ts';
import { createView, dropNamespace, modifyCollection } from '../catalog/destination-catalog.ts';
import type { SyncContext } from '../sync-context.ts';
import type { CatalogEvent } from './change-event.ts';

/**
 * Applies the creation, change or drop of a view: the events without a collection's UUID.
 * @throws SyncError TimeSeriesNotSupported: a time-series collection shows as a view on its buckets. Once it is dropped on
 * the source, its events are passed over.
 */
export async function applyViewEvent(context: SyncContext, event: CatalogEvent): Promise<void> {
  const { namespace, operation, description, time } = event;
  if (!(await context.filter.selects(namespace))) return;
  const view = context.catalog.view(namespace);
  if (view && isAtMost(time, view.specifiedAt)) return;
  switch (operation) {
    case 'create': {
      if (description['viewOn'] === `system.buckets.${namespace.coll}`) {
        if (await isTimeSeries(context, namespace)) throw timeSeriesError(namespace);
        // It is gone by now, so that there is nothing to lose.
        return;
      }
      // A collection stands there in the catalog, which is later: the view is gone again by then.
      if (context.catalog.collectionAt(namespace)) return;
      await createView(context, namespace, description);
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
      await modifyCollection(context, namespace, description);
      await context.catalog.putView({
        ...view,
        options: { ...view.options, ...description },
        specifiedAt: time,
        specifiedBy: time,
      });
      return;
    case 'drop':
      if (!view) return;
      await dropNamespace(context, namespace);
      await context.catalog.removeView(namespace);
      return;
    default:
      throw new SyncError(
        'ChangeNotSupported',
        `${operation} of ${namespaceText(namespace)} on the source cannot be followed`,
      );
  }
}

async function isTimeSeries(
  { source, signal }: SyncContext,
  { db, coll }: Namespace,
): Promise<boolean> {
  const [now] = await listNamespaces(source, db, signal, { name: coll });
  return now?.kind === 'timeseries';
}
