import { MongoClient, type Document } from 'mongodb';
import { forEachConcurrently } from '../../../service/concurrency.ts';
import { shopCollections, shopDatabase, type ShopCollection } from './shop-collections.ts';

const batchSize = 5_000;

/** How much is loaded. */
export interface LoadOptions {
  /** 1 (the default) for 220,000 documents. */
  readonly scale?: number;
  readonly signal: AbortSignal;
}

/** Loads the sample data: collections with their indexes, and a view. Returns the number of documents. */
export async function loadShop(uri: string, options: LoadOptions): Promise<number> {
  const { scale = 1, signal } = options;
  await using client = new MongoClient(uri);
  const db = client.db(shopDatabase);
  let documents = 0;
  await forEachConcurrently(shopCollections, 3, async (collection) => {
    const { name, indexes } = collection;
    const created = await db.createCollection(name, collection.options);
    if (indexes.length > 0) await created.createIndexes([...indexes]);
    for (const batch of batchesOf(collection, scale)) {
      signal.throwIfAborted();
      await created.insertMany(batch, { ordered: collection.options?.capped === true });
      documents += batch.length;
    }
  });
  await db.createCollection('openOrders', {
    viewOn: 'orders',
    pipeline: [{ $match: { status: 'open' } }, { $project: { lines: 0 } }],
  });
  return documents;
}

function* batchesOf(
  { documents, documentAt }: ShopCollection,
  scale: number,
): Generator<Document[]> {
  const count = Math.round(documents * scale);
  for (let from = 0; from < count; from += batchSize) {
    const length = Math.min(batchSize, count - from);
    yield Array.from({ length }, (_, offset) => documentAt(from + offset));
  }
}
