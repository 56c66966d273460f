import { UUID } from 'mongodb';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { codeOf, errorNameOf } from '../../mongo/server-errors.ts';
import { serverCodeOf } from '../../mongo/server-codes.ts';
import { shardKeyIndexName } from '../../mongo/shard-key.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import {
  largeCollection,
  type LeftIndexRecord,
  type LeftIndexStore,
} from '../store/left-index-store.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';

/**
 * The indexes of the source that the destination does not have for now. An index is recorded as left before it is dropped, when it
 * was refused, or when changes are not to wait for its build. Its record is removed once the index is seen on the destination, or is
 * no longer on the source.
 */
export class LeftIndexes {
  readonly #store: LeftIndexStore;
  readonly #catalog: TrackedCatalog;
  readonly #monitor: Pick<SyncMonitor, 'leftIndexes'>;
  #records: readonly LeftIndexRecord[] = [];
  /** How fast indexes are built; null if unknown. */
  #bytesPerSecond: number | null = null;

  constructor(
    store: LeftIndexStore,
    catalog: TrackedCatalog,
    monitor: Pick<SyncMonitor, 'leftIndexes'>,
  ) {
    this.#store = store;
    this.#catalog = catalog;
    this.#monitor = monitor;
  }

  get records(): readonly LeftIndexRecord[] {
    return this.#records;
  }

  /** Those of a collection, by its UUID on the source. */
  of(collection: UUID): readonly LeftIndexRecord[] {
    return this.#records.filter((record) => record.collection.equals(collection));
  }

  /** Reads the stored records again, in case other instances have changed them. */
  async refresh(): Promise<void> {
    this.#take(await this.#store.read());
  }

  /** Leaves an index to the commit. To be called before it is dropped. */
  async leave(namespace: Namespace, name: string, error: unknown): Promise<void> {
    const code = codeOf(error);
    const named = code === undefined ? undefined : serverCodeOf(code);
    const tracked = this.#catalog.collectionAt(namespace);
    // Such an index is not from the source.
    if (!tracked || name === shardKeyIndexName) return;
    const known = this.of(tracked.uuid).find((record) => record.name === name);
    await this.#put(tracked, name, {
      reason: named?.name ?? errorNameOf(error),
      expectedSeconds: known?.expectedSeconds ?? this.secondsFor(tracked.sizeBytes),
    });
  }

  /** Leaves an index of a collection of this size, so that changes do not wait for its build. */
  async buildLater(tracked: TrackedCollection, name: string, bytes: number): Promise<void> {
    const expectedSeconds = this.secondsFor(bytes);
    await this.#put(tracked, name, { reason: largeCollection, expectedSeconds });
  }

  /** Forgets indexes that the source has dropped; all of a collection that it has dropped. */
  async forget(uuid: UUID, names?: readonly string[]): Promise<void> {
    await this.#store.removeOf(uuid, names);
    this.#take(this.#without(uuid, names));
  }

  #without(uuid: UUID, names?: readonly string[]): readonly LeftIndexRecord[] {
    return this.#records.filter(
      ({ collection, name }) => !collection.equals(uuid) || names?.includes(name) === false,
    );
  }

  async #put(
    tracked: TrackedCollection,
    name: string,
    { reason, expectedSeconds }: Pick<LeftIndexRecord, 'reason' | 'expectedSeconds'>,
  ): Promise<void> {
    const record = {
      collection: tracked.uuid,
      name,
      reason,
      // An index that is built at the commit in any case is not a reason to delay it.
      expectedSeconds: isTrue(tracked.options['capped']) ? null : expectedSeconds,
      mark: new UUID().toHexString(),
    };
    await this.#store.leave(record);
    this.#take([...this.#without(tracked.uuid, [name]), record]);
  }

  /**
   * Removes a record, once the index is there or no longer needed. It stays if the index was left again since the record was
   * read.
   */
  async remove(record: LeftIndexRecord): Promise<void> {
    if (!(await this.#store.remove(record))) return;
    this.#take(this.#records.filter(({ mark }) => mark !== record.mark));
  }

  /** Removes all records, once the commit has settled them. */
  async clear(): Promise<void> {
    await this.#store.clear();
    this.#take([]);
  }

  /** Stores how long an index is expected to take. */
  async expect(record: LeftIndexRecord, seconds: number): Promise<void> {
    await this.#store.expect(record, seconds);
    this.#take(
      this.#records.map((one) =>
        one.mark === record.mark ? { ...one, expectedSeconds: seconds } : one,
      ),
    );
  }

  /** Learns how fast documents are read and written here: a first estimate of how fast they are indexed. */
  addRate(bytes: number, seconds: number): void {
    if (bytes > 0 && seconds > 0) this.#bytesPerSecond = bytes / seconds;
  }

  /** How long building an index over this many bytes is expected to take; null if unknown. */
  secondsFor(bytes: number): number | null {
    if (this.#bytesPerSecond === null || bytes <= 0) return null;
    return Math.max(1, Math.round(bytes / this.#bytesPerSecond));
  }

  #take(records: readonly LeftIndexRecord[]): void {
    this.#records = records;
    this.#monitor.leftIndexes = records.flatMap(({ collection, name, reason, expectedSeconds }) => {
      const tracked = this.#catalog.collection(collection.toHexString(false));
      if (!tracked) return [];
      const namespace = namespaceText(tracked.namespace);
      const isBuiltByCommitAlone = isTrue(tracked.options['capped']);
      return [{ namespace, name, reason, expectedSeconds, isBuiltByCommitAlone }];
    });
  }
}
