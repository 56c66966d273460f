import { BSON, MongoBulkWriteError, type Collection, type Db, type Document } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { verifierDatabase } from '../../mongo/namespace.ts';
import { longWorkMs } from '../../mongo/retry-warnings.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { connectionError, isTransient, serverCode } from '../../mongo/server-errors.ts';
import { storedDocument } from '../../mongo/stored-document.ts';
import { readWhole } from '../../mongo/whole-reading.ts';

/** How long a coordinator, or a process, counts as alive after its last sign of life, by the clock of the metadata store. */
export const leaseMs = 10_000;

/** The identity of a process. */
export interface ProcessIdentity {
  /** Name of the verification. */
  readonly verification: string;
  /** The name that it keeps across restarts. */
  readonly id: string;
  /** Of this start of the process. */
  readonly incarnation: string;
  /** Of the verification; undefined for a process that only reads whichever is on record. */
  readonly attempt: number | undefined;
}

/** Access to the collections of the metadata store. */
export interface MetadataStore extends RetryContext {
  readonly db: Db;
}

/** The database of the metadata store: every write is acknowledged by a majority. */
export function metadataDb(cluster: ClusterClient): Db {
  return cluster.decoded.db(verifierDatabase, { writeConcern: { w: 'majority', journal: true } });
}

/**
 * Runs repeatable work on the metadata store until it succeeds.
 * @param run - receives the number of failures: work done by a failed attempt, whose answer was lost, stays done.
 */
export async function onStore<T>(
  store: MetadataStore,
  run: (attempt: number) => Promise<T>,
): Promise<T> {
  const named = async (attempt: number): Promise<T> => {
    // A write has no limit: it waits for a majority as long as that takes.
    using warning = store.monitor.retryWarnings.watch('metadata store', 'waiting', longWorkMs);
    warning.set('it has not completed an operation');
    try {
      return await run(attempt);
    } catch (error) {
      store.signal.throwIfAborted();
      throw connectionError(error) ?? error;
    }
  };
  return await retrying(store, 'metadata store', named, isTransient);
}

/** The runs that are on record. */
export type LivingRuns = () => Promise<readonly string[]>;

/**
 * Deletes what a collection has of runs that are no longer on record. Which runs it has is read first: what belongs to one that begins
 * meanwhile is not among them.
 */
export async function forgetEndedRuns(
  store: MetadataStore,
  { collectionName }: Pick<Collection, 'collectionName'>,
  living: LivingRuns,
): Promise<void> {
  const collection = store.db.collection<{ run: string }>(collectionName);
  const grouped = await onStore(store, async () => {
    return await readWhole(collection.aggregate([{ $group: { _id: '$run' } }]));
  });
  const there = grouped.map((row) => storedDocument(collection, row).field('_id').text());
  const onRecord = new Set(await living());
  const ended = there.filter((run) => !onRecord.has(run));
  if (ended.length === 0) return;
  await onStore(store, async () => {
    await collection.deleteMany({ run: { $in: ended } });
  });
}

/**
 * Inserts documents that an attempt whose answer was lost may have inserted already. A document whose `_id` is taken counts as
 * inserted only if the stored one has the same values.
 * @param fixed - the fields that nobody changes after the insert, which are compared.
 * @throws Error if another document has the `_id`: two documents were given one name, and one of them would be lost.
 */
export async function insertNew<T extends Document & { _id: unknown }>(
  collection: Collection<T>,
  documents: readonly T[],
  fixed: readonly string[],
): Promise<void> {
  let missing = documents;
  // A document that is taken at the insert but then not found was deleted in between: insert it again.
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
    // For a write that a majority may lack, the driver reports only that, and no document.
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
