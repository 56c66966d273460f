import { type Collection, type Filter, MaxKey, type UUID } from 'mongodb';
import { boundedDocuments } from '../../mongo/whole-reading.ts';
import { storedBound, type Stored } from './encoding.ts';
import type { Partition, StoredPartition } from './records.ts';
import { partitionIn, partitionKeyIn } from './stored-records.ts';

/** Index of the record that marks all partitions of a collection as stored. */
const partitionsEnd = -1;

/** The stored records of the partitions in which collections are copied: one document for each, and one for the end of each list. */
export class PartitionStore {
  readonly #records: Collection<Stored<{ collection: UUID; index: number }>>;
  readonly #signal: AbortSignal;

  constructor(
    records: Collection<Stored<{ collection: UUID; index: number }>>,
    signal: AbortSignal,
  ) {
    this.#records = records;
    this.#signal = signal;
  }

  /**
   * The partitions that are not copied yet, of each completely partitioned collection, by its UUID as 32 hexadecimal digits.
   */
  async readPending(): Promise<ReadonlyMap<string, readonly Partition[]>> {
    const isEndOrPending = { $or: [{ '_id.index': partitionsEnd }, { isCopied: false }] };
    const found = this.#records.find(isEndOrPending, { signal: this.#signal });
    const partitions = new Map<string, Partition[]>();
    const pending: Partition[] = [];
    for await (const stored of boundedDocuments(found)) {
      const { collection, index } = partitionKeyIn(this.#records, stored);
      if (index === partitionsEnd) partitions.set(collection.toHexString(false), []);
      else pending.push(partitionIn(this.#records, stored));
    }
    for (const partition of pending)
      partitions.get(partition.collection.toHexString(false))?.push(partition);
    return partitions;
  }

  /** Stores all partitions of a collection, replacing the leftovers of an interrupted attempt. */
  async put(collection: UUID, partitions: readonly Partition[]): Promise<void> {
    await this.#records.deleteMany(recordsOf(collection));
    await this.#records.insertMany(
      partitions.map(({ index, min, max }) => ({
        _id: { collection, index },
        min: storedBound(min),
        max: storedBound(max),
        isCopied: false,
      })),
    );
    await this.#records.insertOne({ _id: { collection, index: partitionsEnd } });
  }

  /** Forgets all partitions: the copy starts over. */
  async deleteAll(): Promise<void> {
    await this.#records.deleteMany({});
  }

  /** Forgets the partitions of a collection: it will be copied as a whole. */
  async deleteOf(collection: UUID): Promise<void> {
    await this.#records.deleteMany(recordsOf(collection));
  }

  /** Records that a partition is on the destination, unless it is not stored with these bounds. */
  async complete({ collection, index, min, max }: Partition): Promise<void> {
    await this.#records.updateOne(
      { _id: { collection, index }, min: storedBound(min), max: storedBound(max) },
      { $set: { isCopied: true } },
    );
  }

  /** Stores a partition that is on the destination by now. */
  async putCopied({ collection, index, min, max }: Partition): Promise<void> {
    await this.#records.replaceOne(
      { _id: { collection, index } },
      { min: storedBound(min), max: storedBound(max), isCopied: true },
      { upsert: true },
    );
  }

  /** All partitions of each completely partitioned collection, by its UUID as 32 hexadecimal digits. */
  async readAll(): Promise<ReadonlyMap<string, readonly StoredPartition[]>> {
    const partitions = new Map<string, StoredPartition[]>();
    const ended = new Set<string>();
    const all = this.#records.find({}, { signal: this.#signal });
    for await (const stored of boundedDocuments(all)) {
      const { collection, index } = partitionKeyIn(this.#records, stored);
      const key = collection.toHexString(false);
      if (index === partitionsEnd) {
        ended.add(key);
        continue;
      }
      const of = partitions.get(key) ?? [];
      partitions.set(key, of);
      of.push(partitionIn(this.#records, stored));
    }
    return new Map([...ended].map((key) => [key, partitions.get(key) ?? []]));
  }
}

/** The records of a collection, as a range of the only index, which has whole ids. */
function recordsOf(collection: UUID): Filter<Stored<{ collection: UUID; index: number }>> {
  const $gte = { collection, index: partitionsEnd };
  const $lte = { collection, index: new MaxKey() };
  return { _id: { $gte, $lte } as never };
}
