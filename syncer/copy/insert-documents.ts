import type { Document, WriteConcernSettings } from 'mongodb';
import { documentSequence } from '../../mongo/document-sequence.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import {
  bsonType,
  idElement,
  RawWriter,
  type RawDocument,
  type RawElement,
} from '../../mongo/raw-bson.ts';
import { RawCursor, type RawBatch } from '../../mongo/raw-cursor.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { codeOf, isTransient, serverCode } from '../../mongo/server-errors.ts';
import { findZeroTimestamps, hasZeroTimestamp } from '../../mongo/literal-documents.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { dropRefusingIndexes } from '../catalog/loosen-indexes.ts';
import type { SyncContext } from '../sync-context.ts';
import { runDocumentWrite, throwWriteErrors, type WriteContext } from './run-document-write.ts';

/** Documents to insert, as the driver sends them. */
interface Insert {
  readonly documents: object;
  /** Those among them that the server alters. */
  readonly altered: readonly RawDocument[];
  /** One of them, by its number. */
  readonly document: (index: number) => RawDocument | undefined;
}

type InsertContext = WriteContext & Pick<SyncContext, 'logger' | 'options'>;

/**
 * Inserts documents as bytes, past validation, acknowledged by a majority. A document whose `_id` is there already is
 * left as it is there: it comes from an earlier attempt, and change events bring it up to date. On one server an
 * unordered insert still keeps the order.
 * @returns the ids of those that were left out.
 */
export async function insertDocuments(
  context: InsertContext,
  namespace: Namespace,
  documents: readonly RawDocument[],
): Promise<RawElement[]> {
  const insert = {
    documents: documentSequence('documents', documents),
    altered: documents.filter(hasZeroTimestamp),
    document: (index: number) => documents[index],
  };
  return await insertAll(context, namespace, insert, { w: 'majority' });
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
  writeConcern: WriteConcernSettings,
): Promise<InsertedBatch> {
  const { found, ...sums } = findZeroTimestamps(batch.array);
  const value = { type: bsonType.array, name: 'documents', bytes: batch.array, offset: 0 };
  const insert = {
    documents: new RawValue('documents', { ...value, length: batch.array.length }),
    altered: found,
    document: (index: number) => batch.documents[index],
  };
  const taken = await insertAll(context, namespace, insert, writeConcern);
  return { ...sums, taken };
}

async function insertAll(
  context: InsertContext,
  namespace: Namespace,
  insert: Insert,
  writeConcern: WriteConcernSettings,
): Promise<RawElement[]> {
  try {
    return await insertOnce(context, namespace, insert, writeConcern);
  } catch (error) {
    if (codeOf(error) === undefined || isTransient(error)) throw error;
    if (codeOf(error) === serverCode.shardKeyNotFound) {
      throw new SyncError(
        'InvalidShardKeyValue',
        `a document of ${namespaceText(namespace)} cannot be on a sharded cluster: ${messageOf(error)}`,
        { cause: error },
      );
    }
    await dropRefusingIndexes(context, namespace);
    return await insertOnce(context, namespace, insert, writeConcern);
  }
}

async function insertOnce(
  context: InsertContext,
  namespace: Namespace,
  insert: Insert,
  writeConcern: WriteConcernSettings,
): Promise<RawElement[]> {
  const { db, coll } = namespace;
  const { documents, altered } = insert;
  const answer = await runDocumentWrite(context, db, {
    insert: coll,
    ordered: false,
    bypassDocumentValidation: true,
    writeConcern,
    documents,
  });
  const there = await findRefused(context, namespace, insert, answer);
  throwWriteErrors(answer, (error) => isIdTaken(error) || there.has(Number(error['index'])));
  if (altered.length === 0) return takenIds(insert, answer);
  // The server has put its own time into these.
  const repaired = await runDocumentWrite(context, db, {
    update: coll,
    ordered: false,
    bypassDocumentValidation: true,
    writeConcern,
    updates: documentSequence('updates', altered.map(repairStatement)),
  });
  throwWriteErrors(repaired, () => false);
  return takenIds(insert, answer);
}

function takenIds(insert: Insert, answer: Document): RawElement[] {
  return ((answer['writeErrors'] ?? []) as Document[]).flatMap(({ index }) => {
    const document = insert.document(Number(index));
    return document === undefined ? [] : [idElement(document)];
  });
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
    const document = isIdTaken(error) ? undefined : insert.document(index);
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
