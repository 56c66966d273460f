import type { Collection, UUID } from 'mongodb';
import { storedDocument } from '../../mongo/stored-document.ts';
import { readWhole } from '../../mongo/whole-reading.ts';
import type { Stored } from './encoding.ts';

/** The reason of an index that was created on a large collection during the sync: changes do not wait for its build. */
export const largeCollection = 'LargeCollection';

/**
 * An index of the source that the destination does not have for now: it could not be built there, or is not built yet, and is
 * left to the commit unless it can be built before. One document for each, in the collection `leftIndexes`.
 */
export interface LeftIndexRecord {
  /** UUID on the source. */
  readonly collection: UUID;
  readonly name: string;
  /** The name of the error with which the destination has refused it, or a document because of it; or {@link largeCollection}. */
  readonly reason: string;
  /** How long building it is expected to take; null if unknown. */
  readonly expectedSeconds: number | null;
  /** Different each time that it is left: a builder must not remove the record if the index was left again meanwhile. */
  readonly mark: string;
}

/** The stored records of indexes that are left to the commit. Any instance leaves one; the coordinator builds them. */
export class LeftIndexStore {
  readonly #records: Collection<Stored<{ collection: UUID; name: string }>>;
  readonly #signal: AbortSignal;

  constructor(
    records: Collection<Stored<{ collection: UUID; name: string }>>,
    signal: AbortSignal,
  ) {
    this.#records = records;
    this.#signal = signal;
  }

  async read(): Promise<LeftIndexRecord[]> {
    const found = await readWhole(
      this.#records.find({}, { signal: this.#signal, sort: { _id: 1 } }),
    );
    return found.map((one) => {
      const record = storedDocument(this.#records, one);
      const key = record.field('_id');
      return {
        collection: key.field('collection').uuid(),
        name: key.field('name').text(),
        reason: record.field('reason').text(),
        expectedSeconds: record.orNull('expectedSeconds')?.number() ?? null,
        mark: record.field('mark').text(),
      };
    });
  }

  /** Records that an index is left. Keeps what is known of its time. */
  async leave({ collection, name, reason, expectedSeconds, mark }: LeftIndexRecord): Promise<void> {
    await this.#records.updateOne(
      { _id: { collection, name } },
      { $set: { reason, expectedSeconds, mark } },
      { upsert: true },
    );
  }

  async expect(
    { collection, name }: Pick<LeftIndexRecord, 'collection' | 'name'>,
    expectedSeconds: number,
  ): Promise<void> {
    await this.#records.updateOne({ _id: { collection, name } }, { $set: { expectedSeconds } });
  }

  /**
   * Removes the record of an index. @returns false if the index was left again since the record was read, so that it is kept.
   */
  async remove({ collection, name, mark }: LeftIndexRecord): Promise<boolean> {
    const isOther = { _id: { collection, name }, mark: { $ne: mark } };
    await this.#records.deleteOne({ _id: { collection, name }, mark });
    return (await this.#records.findOne(isOther, { signal: this.#signal })) === null;
  }

  /** Removes those of a collection: all, or those of some indexes. */
  async removeOf(collection: UUID, names?: readonly string[]): Promise<void> {
    const filter = { '_id.collection': collection, ...(names && { '_id.name': { $in: names } }) };
    await this.#records.deleteMany(filter);
  }

  async clear(): Promise<void> {
    await this.#records.deleteMany({});
  }
}
