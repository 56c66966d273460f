import { ObjectId, type AnyBulkWriteOperation, type Collection, type Document } from 'mongodb';
import { SeededRandom } from '../../e2e/ground/workload/seeded-random.ts';

/** A document of the mixed load: about 400 bytes. */
export interface LoadDocument extends Document {
  readonly _id: ObjectId;
  readonly writer: number;
  readonly count: number;
  readonly at: Date;
  readonly text: string;
}

export type LoadOperation = AnyBulkWriteOperation<LoadDocument>;

/** How many of a hundred operations are of each kind. */
const insertPercent = 50;
const updatePercent = 40;

/** Operations sent in one bulk write. */
const bulkSize = 1_000;

/**
 * What the writers of a mixed load do: 50 % inserts, 40 % updates, 10 % deletes; each writer has its own documents.
 * No `_id` is used again after its delete, so bulk writes may be unordered.
 */
export class MixedLoad {
  readonly #random: SeededRandom;
  readonly #writer: number;
  readonly #live: ObjectId[] = [];

  constructor(writer: number) {
    this.#writer = writer;
    this.#random = new SeededRandom(writer + 1);
  }

  /** Documents that exist before the load begins. */
  documents(count: number): LoadDocument[] {
    return Array.from({ length: count }, () => this.#document());
  }

  /** The next operation. */
  next(): LoadOperation {
    const percent = this.#random.below(100);
    if (percent < insertPercent || this.#live.length < 2) {
      return { insertOne: { document: this.#document() } };
    }
    const index = this.#random.below(this.#live.length);
    const _id = this.#live[index];
    const last = this.#live.at(-1);
    if (_id === undefined || last === undefined) throw new Error('there is no document');
    if (percent < insertPercent + updatePercent) {
      const update = { $inc: { count: 1 }, $set: { at: new Date(), text: this.#text(40) } };
      return { updateOne: { filter: { _id }, update } };
    }
    this.#live[index] = last;
    this.#live.pop();
    return { deleteOne: { filter: { _id } } };
  }

  #document(): LoadDocument {
    const _id = new ObjectId();
    this.#live.push(_id);
    return { _id, writer: this.#writer, count: 0, at: new Date(), text: this.#text(300) };
  }

  #text(length: number): string {
    return this.#random
      .below(2 ** 31)
      .toString(36)
      .repeat(length)
      .slice(0, length);
  }
}

/** Carries out operations as bulk writes, one writer for each list. */
export async function writeInBulk(
  collection: Collection<LoadDocument>,
  lists: readonly (readonly LoadOperation[])[],
): Promise<void> {
  await Promise.all(
    lists.map(async (operations) => {
      for (let start = 0; start < operations.length; start += bulkSize)
        await collection.bulkWrite(operations.slice(start, start + bulkSize), { ordered: false });
    }),
  );
}
