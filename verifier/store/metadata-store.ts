import { BSON, MongoBulkWriteError, type Collection, type Db, type Document } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { verifierDatabase } from '../../mongo/namespace.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { connectionError, isTransient, serverCode } from '../../mongo/server-errors.ts';
import { readWhole } from '../../mongo/whole-reading.ts';

/** How long a coordinator, or a process, counts as alive after it was last heard of, by the clock of the metadata store. */
export const leaseMs = 10_000;

/** Who a process is. */
export interface ProcessIdentity {
  /** Name of the verification. */
  readonly verification: string;
  /** The name that it has in every life. */
  readonly id: string;
  /** Of this life. */
  readonly incarnation: string;
  /** Of the verification; undefined for one that only reads whichever is on record. */
  readonly attempt: number | undefined;
}

/** How the collections of the metadata store are reached. */
export interface MetadataStore extends RetryContext {
  readonly db: Db;
}

/** The database of the metadata store: every write is acknowledged by a majority. */
export function metadataDb(cluster: ClusterClient): Db {
  return cluster.decoded.db(verifierDatabase, { writeConcern: { w: 'majority', journal: true } });
}

/**
 * Runs work on the metadata store, which may be repeated, until it succeeds.
 * @param run - is given how often it has failed: what it has done then, the answer to which was lost, is done.
 */
export async function onStore<T>(
  store: MetadataStore,
  run: (attempt: number) => Promise<T>,
): Promise<T> {
  const named = async (attempt: number): Promise<T> => {
    try {
      return await run(attempt);
    } catch (error) {
      store.signal.throwIfAborted();
      throw connectionError(error) ?? error;
    }
  };
  return await retrying(store, 'metadata store', named, isTransient);
}

/**
 * Inserts documents that an attempt whose answer was lost may have inserted already. One whose `_id` is taken counts as
 * inserted only if what is there has the same values.
 * @param fixed - the fields that nobody changes after the insert, which are compared.
 * @throws Error where another document has the `_id`: two documents were given one name, and one of them would be lost.
 */
export async function insertNew<T extends Document & { _id: unknown }>(
  collection: Collection<T>,
  documents: readonly T[],
  fixed: readonly string[],
): Promise<void> {
  let missing = documents;
  // A document that is taken at the insert and gone at the look was deleted in between: it is inserted again.
  while (missing.length > 0) {
    const refused = await insertUnordered(collection, missing);
    missing = await notThere(collection, refused, fixed);
  }
}

/** @returns the documents whose `_id` is taken. */
async function insertUnordered<T extends Document>(
  collection: Collection<T>,
  documents: readonly T[],
): Promise<T[]> {
  try {
    await collection.insertMany(documents as never, { ordered: false });
    return [];
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError)) throw error;
    const errors = [error.writeErrors].flat();
    const isOfKeys = errors.every(({ code }) => code === serverCode.duplicateKey);
    // Of a write that a majority may lack the driver tells that alone, and of no document.
    if (!isOfKeys || errors.length === 0) throw error;
    const taken = new Set(errors.map(({ index }) => index));
    return documents.filter((_, index) => taken.has(index));
  }
}

async function notThere<T extends Document & { _id: unknown }>(
  collection: Collection<T>,
  documents: readonly T[],
  fixed: readonly string[],
): Promise<T[]> {
  if (documents.length === 0) return [];
  const ids = documents.map(({ _id }) => _id);
  const found = await readWhole(collection.find({ _id: { $in: ids } } as never));
  const byId = new Map(found.map((each) => [keyOf(each._id), each]));
  return documents.filter((document) => {
    const there = byId.get(keyOf(document._id));
    if (there === undefined) return true;
    if (valuesOf(there, fixed) === valuesOf(document, fixed)) return false;
    throw new Error(
      `the metadata store holds another document in ${collection.collectionName} under the _id ${String(document._id)}`,
    );
  });
}

function keyOf(id: unknown): string {
  return valuesOf({ id }, ['id']);
}

function valuesOf(document: Document, names: readonly string[]): string {
  const values = names.map((name) => [name, document[name]] as const);
  return Buffer.from(BSON.serialize(Object.fromEntries(values))).toString('latin1');
}
