import { type Document, MongoServerError, type WriteConcernSettings } from 'mongodb';
import { documentSequence } from '../../mongo/document-sequence.ts';
import { findZeroTimestamps, hasZeroTimestamp } from '../../mongo/literal-documents.ts';
import { type Namespace, namespaceText } from '../../mongo/namespace.ts';
import {
  bsonType,
  idElement,
  type RawDocument,
  type RawElement,
  RawWriter,
} from '../../mongo/raw-bson.ts';
import { type RawBatch, RawCursor } from '../../mongo/raw-cursor.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { codeOf, isRefusedByIndex, serverCode } from '../../mongo/server-errors.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { runDocumentWrite, throwWriteErrors, type WriteContext } from './delete-documents.ts';
import { findMissing } from './find-missing.ts';
import { dropRefusingIndexes, type Loosening } from './loosen-indexes.ts';

/** Documents to insert, as the driver sends them. */
interface Insert {
  readonly documents: object;
  /** Those among them that the server alters. */
  readonly altered: readonly RawDocument[];
  /** They, one by one. */
  readonly list: () => readonly RawDocument[];
}

/** How documents are inserted. */
export interface InsertSettings {
  readonly writeConcern: WriteConcernSettings;
  /** They have to stand in this order: those of a capped collection. */
  readonly isInOrder: boolean;
}

type InsertContext = WriteContext & Loosening;

/**
 * Inserts documents as bytes, past validation, acknowledged by a majority. A document whose `_id` is there already is
 * left as it is there: it comes from an earlier attempt, and change events bring it up to date. An index that refuses one
 * gives way, and is left to the commit.
 * @returns the ids of those that were left out.
 */
export async function insertDocuments(
  context: InsertContext,
  namespace: Namespace,
  documents: readonly RawDocument[],
  { isInOrder = false }: Partial<Pick<InsertSettings, 'isInOrder'>> = {},
): Promise<RawElement[]> {
  const settings = { writeConcern: { w: 'majority' }, isInOrder } as const;
  return await insertAll(context, namespace, insertOf(documents), settings);
}

function insertOf(documents: readonly RawDocument[]): Insert {
  return {
    documents: documentSequence('documents', documents),
    altered: documents.filter(hasZeroTimestamp),
    list: () => documents,
  };
}

/** What a fetch has brought. */
export interface InsertedBatch {
  readonly count: number;
  readonly totalBytes: number;
  /** The ids of those that were left out, as they are there already. */
  readonly taken: readonly RawElement[];
}

/**
 * Inserts what a fetch has brought, as `insertDocuments` does, without taking it apart. The write concern is the
 * caller's.
 */
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
  { writeConcern, isInOrder }: InsertSettings,
): Promise<RawElement[]> {
  if (isInOrder) return await insertInOrder(context, namespace, insert, writeConcern);
  const { taken, refused } = await insertOnce(context, namespace, insert, writeConcern);
  const error = refusalOf(namespace, refused);
  if (error) {
    if (!isRefusedByIndex(error)) throw error;
    await dropRefusingIndexes(context, namespace, error);
    // All others are there by now: inserted once more, they would count as taken.
    const rest = insertOf(documentsOf(insert, refused));
    const again = await insertOnce(context, namespace, rest, writeConcern);
    const left = refusalOf(namespace, again.refused);
    if (left) throw left;
    taken.push(...again.taken);
  }
  await repair(context, namespace, insert, writeConcern);
  return taken;
}

/** The write errors of an insert: of what is there already, its ids. */
interface Refused {
  readonly taken: RawElement[];
  readonly refused: readonly Document[];
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
  const taken: Document[] = [];
  const refused: Document[] = [];
  for (const error of (answer['writeErrors'] ?? []) as Document[])
    (isIdTaken(error) || there.has(Number(error['index'])) ? taken : refused).push(error);
  return { taken: documentsOf(insert, taken).map(idElement), refused };
}

function refusalOf(namespace: Namespace, [refused]: readonly Document[]): Error | undefined {
  if (refused === undefined) return undefined;
  const cause = new MongoServerError(refused);
  if (codeOf(cause) !== serverCode.shardKeyNotFound) return cause;
  return new SyncError(
    'InvalidShardKeyValue',
    `a document of ${namespaceText(namespace)} cannot be on a sharded cluster: ${messageOf(cause)}`,
    { cause },
  );
}

/**
 * Inserts one after the other: what an index refuses is inserted once that is dropped, and before those after it. (On one
 * server an unordered insert keeps the order, too, but goes on behind what is refused.)
 */
async function insertInOrder(
  context: InsertContext,
  namespace: Namespace,
  insert: Insert,
  writeConcern: WriteConcernSettings,
): Promise<RawElement[]> {
  const taken: RawElement[] = [];
  let isLoosened = false;
  let rest = insert;
  for (;;) {
    const answer = await runInsert(context, namespace, rest, { writeConcern, isInOrder: true });
    throwWriteErrors(answer, () => true);
    const [refused] = (answer['writeErrors'] ?? []) as Document[];
    if (refused === undefined) break;
    const index = Number(refused['index']);
    const there = await findRefused(context, namespace, rest, answer);
    if (isIdTaken(refused) || there.has(index)) {
      taken.push(...documentsOf(rest, [refused]).map(idElement));
      const after = rest.list().slice(index + 1);
      // Where the copy is repeated, most of them are there: they are not tried one by one.
      const missing = await findMissingDocuments(context, namespace, after);
      taken.push(...after.filter((document) => !missing.has(document)).map(idElement));
      if (missing.size === 0) break;
      rest = insertOf([...missing]);
      continue;
    }
    const error = new MongoServerError(refused);
    if (isLoosened || !isRefusedByIndex(error)) throw error;
    await dropRefusingIndexes(context, namespace, error);
    isLoosened = true;
    rest = insertOf(rest.list().slice(index));
  }
  await repair(context, namespace, insert, writeConcern);
  return taken;
}

/** Those of some documents whose `_id` is not there, in their order. */
async function findMissingDocuments(
  context: InsertContext,
  namespace: Namespace,
  documents: readonly RawDocument[],
): Promise<Set<RawDocument>> {
  const keyed = documents.map((document) => ({ document, key: { id: idElement(document) } }));
  const missing = new Set<RawDocument>();
  for await (const group of findMissing(context, { namespace }, keyed))
    for (const { document } of group) missing.add(document);
  return missing;
}

async function runInsert(
  context: InsertContext,
  { db, coll }: Namespace,
  { documents }: Insert,
  { writeConcern, isInOrder }: InsertSettings,
): Promise<Document> {
  const settings = { ordered: isInOrder, bypassDocumentValidation: true, writeConcern };
  return await runDocumentWrite(context, db, { insert: coll, ...settings, documents });
}

/** Puts those anew into which the server has put its own time. */
async function repair(
  context: InsertContext,
  { db, coll }: Namespace,
  { altered }: Insert,
  writeConcern: WriteConcernSettings,
): Promise<void> {
  if (altered.length === 0) return;
  const repaired = await runDocumentWrite(context, db, {
    update: coll,
    ordered: false,
    bypassDocumentValidation: true,
    writeConcern,
    updates: documentSequence('updates', altered.map(repairStatement)),
  });
  throwWriteErrors(repaired, () => false);
}

/** The documents that write errors are about. */
function documentsOf(insert: Insert, writeErrors: readonly Document[]): RawDocument[] {
  return writeErrors.flatMap(({ index }) => insert.list()[Number(index)] ?? []);
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

function isIdTaken({ code, keyPattern }: Document): boolean {
  if (code !== serverCode.duplicateKey) return false;
  return keyPattern === undefined || Object.keys(keyPattern as object).join() === '_id';
}

/**
 * The numbers of the documents that were refused for another reason than their `_id`, as the answer says, and whose `_id` is
 * there all the same. In a clustered collection the server cannot say so of numbers that are not whole, of dates and
 * others (6.0.5: it reads the key without its types, "KeyString format error").
 */
async function findRefused(
  { destination, signal }: InsertContext,
  { db, coll }: Namespace,
  insert: Insert,
  answer: Document,
): Promise<Set<number>> {
  const there = new Set<number>();
  for (const error of (answer['writeErrors'] ?? []) as Document[]) {
    const index = Number(error['index']);
    const document = isIdTaken(error) ? undefined : insert.list()[index];
    if (document === undefined) continue;
    const filter = { _id: new RawValue('_id', idElement(document)) };
    const find = { find: coll, filter, projection: { _id: 1 }, limit: 1 };
    await using cursor = await RawCursor.open(destination.raw, db, find, { signal });
    const found = await cursor.next();
    // Where one is not there, the reason was another one, which is thrown.
    if (!found || found.documents.length === 0) break;
    there.add(index);
  }
  return there;
}
