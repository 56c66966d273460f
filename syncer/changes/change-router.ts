import { hashText } from '../../mongo/canonical-id.ts';
import type { DocumentChange, DocumentEvent } from '../source/change-event.ts';
import { isUndivided, type TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';

/** A change with the collection that it is of, and the lane that it goes to. */
export interface RoutedChange {
  readonly collection: TrackedCollection;
  readonly change: DocumentChange;
  readonly lane: number;
}

interface Route {
  readonly collection: TrackedCollection;
  /** Where all changes of the collection go; undefined when their documents decide. */
  readonly lane: number | undefined;
}

/**
 * Chooses the lane of each change: by the canonical `_id`, so that all changes of what the server takes for one document
 * are in one lane. A collection whose changes have to follow each other (isUndivided) has one lane.
 */
export class ChangeRouter {
  readonly #catalog: TrackedCatalog;
  readonly #lanes: number;
  readonly #routes = new Map<string, Route | undefined>();

  constructor(catalog: TrackedCatalog, lanes: number) {
    this.#catalog = catalog;
    this.#lanes = lanes;
  }

  /** Undefined for a collection that is not tracked: outside the filter, or dropped before the catalog was read. */
  route({ collection: uuid, change }: DocumentEvent): RoutedChange | undefined {
    let route = this.#routes.get(uuid);
    if (!route && !this.#routes.has(uuid)) {
      route = this.#routeOf(uuid);
      this.#routes.set(uuid, route);
    }
    if (!route) return undefined;
    const lane = route.lane ?? hashText(change.key.canonical) % this.#lanes;
    return { collection: route.collection, change, lane };
  }

  /** To be called when the catalog has changed. */
  forget(): void {
    this.#routes.clear();
  }

  #routeOf(uuid: string): Route | undefined {
    const collection = this.#catalog.collection(uuid);
    if (!collection) return undefined;
    return { collection, lane: isUndivided(collection) ? hashText(uuid) % this.#lanes : undefined };
  }
}
