import type { UUID } from 'mongodb';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import type { TrackedCollection, TrackedView } from './records.ts';
import type { SyncStore } from './store.ts';

/** All collections and views of a sync, in memory and in the store. A change is stored before it is visible here. */
export class TrackedCatalog {
  readonly #store: SyncStore;
  readonly #requireLease: () => void;
  readonly #collections = new Map<string, TrackedCollection>();
  /** UUIDs on the source by the name on the destination, which belongs to one collection at a time. */
  readonly #uuidsByName = new Map<string, string>();
  readonly #views = new Map<string, TrackedView>();

  private constructor(store: SyncStore, requireLease: () => void) {
    this.#store = store;
    this.#requireLease = requireLease;
  }

  /**
   * Reads the stored catalog.
   * @param requireLease - called before changes: only one instance makes them. That documents are copied, every instance
   * records.
   */
  static async load(store: SyncStore, requireLease: () => void): Promise<TrackedCatalog> {
    const catalog = new TrackedCatalog(store, requireLease);
    await catalog.reload();
    return catalog;
  }

  /** Reads the stored catalog again, in case another instance has changed it. */
  async reload(): Promise<void> {
    const [collections, views] = await Promise.all([
      this.#store.readCollections(),
      this.#store.readViews(),
    ]);
    this.#forgetAll();
    for (const collection of collections) this.#remember(collection);
    for (const view of views) this.#views.set(namespaceText(view.namespace), view);
  }

  collections(): TrackedCollection[] {
    return [...this.#collections.values()];
  }

  views(): TrackedView[] {
    return [...this.#views.values()];
  }

  /** @param uuidHex - the UUID on the source, as 32 hexadecimal digits. */
  collection(uuidHex: string): TrackedCollection | undefined {
    return this.#collections.get(uuidHex);
  }

  view(namespace: Namespace): TrackedView | undefined {
    return this.#views.get(namespaceText(namespace));
  }

  /** The collection with a name on the destination. */
  collectionAt(namespace: Namespace): TrackedCollection | undefined {
    const uuidHex = this.#uuidsByName.get(namespaceText(namespace));
    return uuidHex === undefined ? undefined : this.#collections.get(uuidHex);
  }

  async put(...collections: TrackedCollection[]): Promise<void> {
    this.#requireLease();
    await this.#store.putCollections(collections);
    for (const collection of collections) this.#remember(collection);
  }

  async remove(uuid: UUID): Promise<void> {
    this.#requireLease();
    await this.#store.deleteCollection(uuid);
    this.#forget(uuid.toHexString(false));
  }

  async putView(view: TrackedView): Promise<void> {
    this.#requireLease();
    await this.#store.putView(view);
    this.#views.set(namespaceText(view.namespace), view);
  }

  async removeView(namespace: Namespace): Promise<void> {
    this.#requireLease();
    await this.#store.deleteView(namespace);
    this.#views.delete(namespaceText(namespace));
  }

  /** Forgets everything. */
  async clear(): Promise<void> {
    this.#requireLease();
    await this.#store.deleteCatalog();
    this.#forgetAll();
  }

  /** Marks collections as wholly copied, with the bytes copied since the last call. */
  async completeCollections(
    collections: readonly TrackedCollection[],
    bytes: number,
  ): Promise<void> {
    await this.#store.completeCollections(
      collections.map(({ uuid }) => uuid),
      bytes,
    );
    for (const { uuid } of collections) {
      const now = this.collection(uuid.toHexString(false));
      if (now) this.#remember({ ...now, isCopied: true });
    }
  }

  #forgetAll(): void {
    this.#collections.clear();
    this.#uuidsByName.clear();
    this.#views.clear();
  }

  #remember(collection: TrackedCollection): void {
    const uuidHex = collection.uuid.toHexString(false);
    this.#forget(uuidHex);
    this.#collections.set(uuidHex, collection);
    this.#uuidsByName.set(namespaceText(collection.namespace), uuidHex);
  }

  #forget(uuidHex: string): void {
    const known = this.#collections.get(uuidHex);
    if (!known) return;
    this.#collections.delete(uuidHex);
    const name = namespaceText(known.namespace);
    // Another one may have the name by now.
    if (this.#uuidsByName.get(name) === uuidHex) this.#uuidsByName.delete(name);
  }
}
