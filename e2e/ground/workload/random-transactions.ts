import type { Document, MongoClient } from 'mongodb';
import { workloadCollections, workloadDatabases } from './random-catalog-changes.ts';
import { randomFields, randomId } from './random-documents.ts';
import type { SeededRandom } from './seeded-random.ts';

/** Enough for a transaction that takes several entries of the oplog. */
const largeDocumentBytes = 3_000_000;

/**
 * Runs a transaction over several collections: writes, at times the creation of a collection with an index, at times more
 * bytes than one entry of the oplog takes. Some are aborted. Rejects with what the server refused; it is aborted then.
 */
export async function runRandomTransaction(
  client: MongoClient,
  random: SeededRandom,
): Promise<void> {
  await client.withSession(async (session) => {
    session.startTransaction();
    try {
      for (let left = 1 + random.below(6); left > 0; left--) {
        const db = client.db(random.pick(workloadDatabases));
        const rows = db.collection(random.pick(workloadCollections));
        const filter: Document = { _id: randomId(random) };
        const step = random.weighted<() => Promise<unknown>>([
          [
            4,
            async () => await rows.insertOne({ ...filter, ...randomFields(random) }, { session }),
          ],
          [
            4,
            async () =>
              await rows.updateOne(
                filter,
                { $inc: { number: 1 }, $set: { 'list.1': random.below(9) } },
                { session },
              ),
          ],
          [
            2,
            async () =>
              await rows.replaceOne(filter, randomFields(random), { session, upsert: true }),
          ],
          [2, async () => await rows.deleteOne(filter, { session })],
          [
            1,
            async () =>
              await rows.updateMany(
                { number: { $lt: 100 } },
                { $set: { inTransaction: random.below(99) } },
                { session },
              ),
          ],
          [
            1,
            async () => {
              const indexes = [{ key: { number: 1 }, name: 'number_1' }];
              await db.createCollection(rows.collectionName, { session });
              await db.command({ createIndexes: rows.collectionName, indexes }, { session });
              await rows.insertOne({ ...filter, ...randomFields(random) }, { session });
            },
          ],
          [
            0.1,
            async () => {
              const filler = 'l'.repeat(largeDocumentBytes);
              const documents = Array.from({ length: 6 }, (_, index) => ({ index, filler }));
              const { insertedIds } = await rows.insertMany(documents, { session });
              await rows.deleteMany(
                { _id: { $in: Object.values(insertedIds).slice(1) } },
                { session },
              );
            },
          ],
        ]);
        await step();
      }
      if (random.chance(0.85)) await session.commitTransaction();
      else await session.abortTransaction();
    } catch (error) {
      if (session.inTransaction()) await session.abortTransaction();
      throw error;
    }
  });
}
