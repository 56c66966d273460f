import { MongoClient, type Document } from 'mongodb';
import { forEachConcurrently } from '../../../service/concurrency.ts';
import {
  shopCollections,
  shopDatabase,
  shopPhotos,
  type ShopCollection,
} from './shop-collections.ts';

const batchSize = 5_000;
const photosOfBatch = 100;

/** How much is loaded. */
export interface LoadOptions {
  /** 1 (the default) for 220,000 documents. */
  readonly scale?: number;
  /** How many photos of 64 KiB it has besides. Default: no such collection. */
  readonly photos?: number;
  readonly signal: AbortSignal;
}

/** Loads the sample data: collections with their indexes, and a view. Returns the number of documents. */
export async function loadShop(uri: string, options: LoadOptions): Promise<number> {
  const { scale = 1, photos = 0, signal } = options;
  await using client = new MongoClient(uri);
  const db = client.db(shopDatabase);
  let documents = 0;
  const scaled = shopCollections.map((collection) => ({
    ...collection,
    documents: Math.round(collection.documents * scale),
  }));
  const collections = photos > 0 ? [{ ...shopPhotos, documents: photos }, ...scaled] : scaled;
  await forEachConcurrently(collections, 3, async (collection) => {
    const { name, indexes } = collection;
    const created = await db.createCollection(name, collection.options);
    if (indexes.length > 0) await created.createIndexes([...indexes]);
    for (const batch of batchesOf(collection)) {
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

function* batchesOf({ name, documents, documentAt }: ShopCollection): Generator<Document[]> {
  const most = name === shopPhotos.name ? photosOfBatch : batchSize;
  for (let from = 0; from < documents; from += most) {
    const length = Math.min(most, documents - from);
    yield Array.from({ length }, (_, offset) => documentAt(from + offset));
  }
}
