import type { WriteConcernSettings } from 'mongodb';
import { documentSequence } from '../../mongo/document-sequence.ts';
import { findZeroTimestamps, hasZeroTimestamp } from '../../mongo/altered-documents.ts';
import { type Namespace, namespaceText } from '../../mongo/namespace.ts';
import { bsonType, idElement, type RawDocument, RawWriter } from '../../mongo/raw-bson.ts';
import { type RawBatch, RawCursor } from '../../mongo/raw-cursor.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { codeOf, isRefusedByIndex, serverCode } from '../../mongo/server-errors.ts';
import { throwWriteErrors, type WriteAnswer, type WriteError } from '../../mongo/write-answer.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { findMissing, runDocumentWrite, type WriteContext } from './document-commands.ts';
import { dropRefusingIndexes, type IndexDropContext } from './refusing-indexes.ts';

/** Documents to insert, as the driver sends them. */
interface Insert {
  readonly documents: object;
  /** The ones among them that the server alters. */
  readonly altered: readonly RawDocument[];
  /** The documents, one by one. */
  readonly list: () => readonly RawDocument[];
}

/** Settings of an insert. */
export interface InsertSettings {
  readonly writeConcern: WriteConcernSettings;
  /** Insert in exactly this order, for a capped collection. */
  readonly isInOrder: boolean;
  /**
   * Whether a document with a taken `_id` is certainly the one that has it: then the server's own time in it is corrected, too.
   */
  readonly isTakenSame: boolean;
}

/** What inserting documents needs. */
export type InsertContext = WriteContext & IndexDropContext;

/**
 * Inserts documents as bytes, past validation, acknowledged by a majority. A document whose `_id` is there already is skipped:
 * it comes from an earlier attempt, and change events bring it up to date. An index that refuses a document is dropped, and
 * left to the commit.
 * @returns the skipped ones.
 */
export async function insertDocuments(
  context: InsertContext,
  namespace: Namespace,
  documents: readonly RawDocument[],
  { isInOrder = false }: Partial<Pick<InsertSettings, 'isInOrder'>> = {},
): Promise<RawDocument[]> {
  const settings = { writeConcern: { w: 'majority' }, isInOrder, isTakenSame: false } as const;
  return await insertAll(context, namespace, insertOf(documents), settings);
}

function insertOf(documents: readonly RawDocument[]): Insert {
  return {
    documents: documentSequence('documents', documents),
    altered: documents.filter(hasZeroTimestamp),
    list: () => documents,
  };
}

/** The documents of a fetch. */
export interface InsertedBatch {
  readonly count: number;
  readonly totalBytes: number;
  /** The skipped ones, whose ids are there already. */
  readonly taken: readonly RawDocument[];
}

/** Inserts the documents of a fetch as `insertDocuments` does, without taking it apart. The write concern is the caller's. */
export async function insertBatch(
  context: InsertContext,
  namespace: Namespace,
  batch: RawBatch,
  settings: InsertSettings,
): Promise<InsertedBatch> {
  const { found, ...sums } = findZeroTimestamps(batch.array);
  const value = { type: bsonType.array, name: 'documents', bytes: batch.array, offset: 0 };
  const insert = {
    documents: new RawValue('documents', { ...value, length: batch.array.length }),
    altered: found,
    list: () => batch.documents,
  };
  const taken = await insertAll(context, namespace, insert, settings);
  return { ...sums, taken };
}

async function insertAll(
  context: InsertContext,
  namespace: Namespace,
  insert: Insert,
  { writeConcern, isInOrder, isTakenSame }: InsertSettings,
): Promise<RawDocument[]> {
  const taken = isInOrder
    ? await insertInOrder(context, namespace, insert, writeConcern)
    : await insertInAnyOrder(context, namespace, insert, writeConcern);
  await repair(
    context,
    namespace,
    isTakenSame ? insert.altered : alteredBesides(insert, taken),
    writeConcern,
  );
  return taken;
}

/** Without those that were not inserted: what has their `_id` may be another document. */
function alteredBesides(insert: Insert, taken: readonly RawDocument[]): readonly RawDocument[] {
  if (insert.altered.length === 0 || taken.length === 0) return insert.altered;
  const others = new Set(taken);
  return insert.list().filter((document) => !others.has(document) && hasZeroTimestamp(document));
}

async function insertInAnyOrder(
  context: InsertContext,
  namespace: Namespace,
  insert: Insert,
  writeConcern: WriteConcernSettings,
): Promise<RawDocument[]> {
  const { taken, refused } = await insertOnce(context, namespace, insert, writeConcern);
  const error = refusalOf(namespace, refused);
  if (error) {
    if (!isRefusedByIndex(error)) throw error;
    await dropRefusingIndexes(context, namespace, error);
    // All others are there by now: if inserted again, they would count as taken.
    const rest = insertOf(documentsOf(insert, refused));
    const again = await insertOnce(context, namespace, rest, writeConcern);
    const left = refusalOf(namespace, again.refused);
    if (left) throw left;
    taken.push(...again.taken);
  }
  return taken;
}

/** The write errors of an insert, and the documents whose ids are there already. */
interface Refused {
  readonly taken: RawDocument[];
  readonly refused: readonly WriteError[];
}

async function insertOnce(
  context: InsertContext,
  namespace: Namespace,
  insert: Insert,
  writeConcern: WriteConcernSettings,
): Promise<Refused> {
  const answer = await runInsert(context, namespace, insert, { writeConcern, isInOrder: false });
  const there = await findRefused(context, namespace, insert, answer);
  throwWriteErrors(answer, () => true);
  const taken: WriteError[] = [];
  const refused: WriteError[] = [];
  for (const error of answer.writeErrors)
    (isIdTaken(error) || there.has(error.index) ? taken : refused).push(error);
  return { taken: documentsOf(insert, taken), refused };
}

function refusalOf(namespace: Namespace, [refused]: readonly WriteError[]): Error | undefined {
  if (refused === undefined) return undefined;
  const cause = refused.toError();
  if (codeOf(cause) !== serverCode.shardKeyNotFound) return cause;
  return new SyncError(
    'InvalidShardKeyValue',
    `a document of ${namespaceText(namespace)} is not allowed on a sharded cluster: ${messageOf(cause)}`,
    { cause },
  );
}

/**
 * Inserts one after the other: a document that an index refuses is inserted once the index is dropped, and before the documents
 * after it. (On one server an unordered insert keeps the order, too, but continues after a refusal.)
 */
async function insertInOrder(
  context: InsertContext,
  namespace: Namespace,
  insert: Insert,
  writeConcern: WriteConcernSettings,
): Promise<RawDocument[]> {
  const taken: RawDocument[] = [];
  let hasDroppedIndexes = false;
  let rest = insert;
  for (;;) {
    const answer = await runInsert(context, namespace, rest, { writeConcern, isInOrder: true });
    throwWriteErrors(answer, () => true);
    const [refused] = answer.writeErrors;
    if (refused === undefined) break;
    const { index } = refused;
    const there = await findRefused(context, namespace, rest, answer);
    if (isIdTaken(refused) || there.has(index)) {
      taken.push(...documentsOf(rest, [refused]));
      const after = rest.list().slice(index + 1);
      // In a repeated copy, most of them are there: do not try those one by one.
      const missing = await findMissingDocuments(context, namespace, after);
      taken.push(...after.filter((document) => !missing.has(document)));
      if (missing.size === 0) break;
      rest = insertOf([...missing]);
      continue;
    }
    const error = refused.toError();
    if (hasDroppedIndexes || !isRefusedByIndex(error)) throw error;
    await dropRefusingIndexes(context, namespace, error);
    hasDroppedIndexes = true;
    rest = insertOf(rest.list().slice(index));
  }
  return taken;
}

/** The documents whose `_id` is not there, in order. */
async function findMissingDocuments(
  context: InsertContext,
  namespace: Namespace,
  documents: readonly RawDocument[],
): Promise<Set<RawDocument>> {
  const keyed = documents.map((document) => ({ document, key: { id: idElement(document) } }));
  const missing = new Set<RawDocument>();
  for await (const group of findMissing(context, namespace, keyed))
    for (const { document } of group) missing.add(document);
  return missing;
}

async function runInsert(
  context: InsertContext,
  { db, coll }: Namespace,
  { documents }: Insert,
  { writeConcern, isInOrder }: Omit<InsertSettings, 'isTakenSame'>,
): Promise<WriteAnswer> {
  const settings = { ordered: isInOrder, bypassDocumentValidation: true };
  return await runDocumentWrite(
    context,
    db,
    { insert: coll, ...settings, documents },
    writeConcern,
  );
}

/** Writes the documents again in which the server has put its own time. */
async function repair(
  context: InsertContext,
  { db, coll }: Namespace,
  altered: readonly RawDocument[],
  writeConcern: WriteConcernSettings,
): Promise<void> {
  if (altered.length === 0) return;
  const update = {
    update: coll,
    ordered: false,
    bypassDocumentValidation: true,
    updates: documentSequence('updates', altered.map(repairStatement)),
  };
  const repaired = await runDocumentWrite(context, db, update, writeConcern);
  throwWriteErrors(repaired, () => false);
}

/** The documents that write errors are about. */
function documentsOf(insert: Insert, writeErrors: readonly WriteError[]): RawDocument[] {
  return writeErrors.flatMap(({ index }) => insert.list()[index] ?? []);
}

function repairStatement(document: RawDocument): RawDocument {
  const id = idElement(document);
  return new RawWriter(document.length + id.length + 128)
    .begin('q')
    .value('_id', id)
    .end()
    .literalReplacement('u', document)
    .finish();
}

function isIdTaken({ code, keyPattern }: WriteError): boolean {
  if (code !== serverCode.duplicateKey) return false;
  return keyPattern === undefined || Object.keys(keyPattern).join() === '_id';
}

/**
 * The numbers of the documents that the answer says were refused for another reason than their `_id`, though their `_id` is
 * there. In a clustered collection the server cannot report a duplicate `_id` that is a fractional number, a date or of certain
 * other types (6.0.5: it reads the key without its types, "KeyString format error").
 */
async function findRefused(
  { destination, signal }: InsertContext,
  { db, coll }: Namespace,
  insert: Insert,
  { writeErrors }: WriteAnswer,
): Promise<Set<number>> {
  const there = new Set<number>();
  for (const error of writeErrors) {
    const { index } = error;
    const document = isIdTaken(error) ? undefined : insert.list()[index];
    if (document === undefined) continue;
    const filter = { _id: new RawValue('_id', idElement(document)) };
    const find = { find: coll, filter, projection: { _id: 1 }, limit: 1 };
    await using cursor = await RawCursor.open(destination.raw, db, find, { signal });
    const found = await cursor.next();
    // If one is not there, the reason was a different one, and is thrown.
    if (!found || found.documents.length === 0) break;
    there.add(index);
  }
  return there;
}
