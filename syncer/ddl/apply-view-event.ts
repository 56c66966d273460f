import { isAtMost } from '../../mongo/cluster-time.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { isRefusedForOthers, isViewRefused } from '../destination/destination-views.ts';
import type { Destination } from '../destination/destination.ts';
import type { CatalogEvent } from '../source/change-event.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';

/** Applies changes of the source's views to the destination. */
export class ViewChanges {
  readonly #source: Source;
  readonly #destination: Destination;
  readonly #catalog: TrackedCatalog;
  readonly #logger: Logger;

  constructor(source: Source, destination: Destination, catalog: TrackedCatalog, logger: Logger) {
    this.#source = source;
    this.#destination = destination;
    this.#catalog = catalog;
    this.#logger = logger;
  }

  /**
   * Applies the creation, change or drop of a view: the events without a collection's UUID.
   *
   * The destination may refuse a view that is applied over a later catalog, because of other views there that came after it. It
   * is left out then, and the views of the source are put there at the commit (settleViews).
   * @throws SyncError TimeSeriesNotSupported: a time-series collection appears as a view on its buckets. Once it is dropped on
   * the source, its events are skipped. ViewRefused if the destination refuses the view itself, until it is dropped on the
   * source.
   */
  async apply(event: CatalogEvent): Promise<void> {
    const { views } = this.#destination;
    const { namespace, operation, description, time } = event;
    if (!(await this.#source.selects(namespace))) return;
    const view = this.#catalog.view(namespace);
    if (view && isAtMost(time, view.specifiedAt)) return;
    switch (operation) {
      case 'create': {
        if (await this.#source.catalog.isUnsupported(namespace, description)) return;
        // The later catalog has a collection of this name: the view is gone again by then.
        if (this.#catalog.collectionAt(namespace)) return;
        await this.#unlessLeftOut(namespace, async () => {
          await views.create(namespace, description);
        });
        await this.#catalog.putView({
          namespace,
          options: description,
          specifiedAt: time,
          specifiedBy: time,
        });
        return;
      }
      case 'modify':
        if (!view) return;
        await this.#unlessLeftOut(namespace, async () => {
          await views.modify(namespace, description);
        });
        await this.#catalog.putView({
          ...view,
          options: { ...view.options, ...description },
          specifiedAt: time,
          specifiedBy: time,
        });
        return;
      case 'drop':
        if (!view) return;
        await views.drop(namespace);
        await this.#catalog.removeView(namespace);
        return;
      default:
        throw new SyncError(
          'ChangeNotSupported',
          `${operation} of ${namespaceText(namespace)} on the source is not supported`,
        );
    }
  }

  /** Puts a view, unless the destination refuses it for a reason that later events may remove. */
  async #unlessLeftOut(namespace: Namespace, put: () => Promise<void>): Promise<void> {
    try {
      await put();
    } catch (error) {
      if (!isViewRefused(error)) throw error;
      if (
        !isRefusedForOthers(error) &&
        (await this.#source.catalog.namespaceNow(namespace))?.kind === 'view'
      )
        throw error;
      this.#logger.debug({ reason: error.message }, 'view is left to the commit');
    }
  }
}
