import type { MongoClient } from 'mongodb';
import { forEachConcurrently } from '../../service/concurrency.ts';

/** The database of all collections. */
export const database = 'bench';

/** The content of each collection, apart from an index on `number`. */
export const documentsEach = 10;
export const documentBytes = 300;

/** Fills the source with `count` collections of the same content. */
export async function loadCollections(source: MongoClient, count: number): Promise<void> {
  const db = source.db(database, { writeConcern: { w: 1 } });
  const text = 'x'.repeat(documentBytes - 40);
  const documents = Array.from({ length: documentsEach }, (_, number) => ({
    _id: number,
    number,
    text,
  }));
  await forEachConcurrently(namesOf(count), 8, async (name) => {
    await db.command({
      createIndexes: name,
      indexes: [{ key: { number: 1 }, name: 'number_1' }],
    });
    await db.command({ insert: name, documents });
  });
}

/** Names of the collections. */
export function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, number) => `c${number}`);
}

/** @throws if a collection, a document or an index is missing. */
export async function assertLoaded(destination: MongoClient, count: number): Promise<void> {
  const db = destination.db(database);
  await forEachConcurrently(namesOf(count), 8, async (name) => {
    const documents = await db.collection(name).estimatedDocumentCount();
    const indexes = await db.collection(name).indexes();
    if (documents !== documentsEach || indexes.length !== 2)
      throw new Error(`${name}: ${documents} documents, ${indexes.length} indexes`);
  });
}
