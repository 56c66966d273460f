import { MongoServerError, type Document } from 'mongodb';
import { documentSequence } from '../../mongo/document-sequence.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import { codeOf, isTransient } from '../../mongo/server-errors.ts';
import { insertDocuments, throwWriteErrors, writeOptions } from '../copy/insert-documents.ts';
import type { TrackedCollection } from '../state/records.ts';
import type { SyncContext } from '../sync-context.ts';
import type { DocumentKey } from './change-event.ts';
import type { DocumentWrite, WholeDocument } from './coalesce.ts';
import { readDocument } from './read-document.ts';
import { deleteStatement, updateStatement } from './write-statements.ts';

/** The server takes 16 KiB above the largest document for a statement: it has an `_id` beside a document. */
const maxStatementBytes = 16 * 1024 * 1024 + 15 * 1024;

/** The server closes a connection on which a message of more than 48,000,000 bytes comes. */
const maxMessageBytes = 32_000_000;

/**
 * Inserts documents, acknowledged by a majority.
 * @returns those whose `_id` is there already, to be put as replacements.
 */
export async function insertNew(
  context: SyncContext,
  collection: TrackedCollection,
  inserts: readonly WholeDocument[],
): Promise<WholeDocument[]> {
  if (inserts.length === 0) return [];
  const answer = await runWrite(context, collection.namespace, {
    insert: collection.namespace.coll,
    ordered: false,
    bypassDocumentValidation: true,
    documents: documentSequence(
      'documents',
      inserts.map(({ document }) => document),
    ),
  });
  throwWriteErrors(answer, () => true);
  const refused: WholeDocument[] = [];
  for (const writeError of (answer['writeErrors'] ?? []) as Document[]) {
    const error = new MongoServerError(writeError);
    const insert = inserts[Number(writeError['index'])];
    if (isTransient(error) || !insert) throw error;
    refused.push(insert);
  }
  return refused;
}

/** How many of the inserts among some writes met no document. */
export interface PutResult {
  readonly insertCount: number;
  readonly newCount: number;
}

/** Puts whole documents and updates others, in order, acknowledged by a majority. */
export async function putOrUpdate(
  context: SyncContext,
  collection: TrackedCollection,
  writes: readonly DocumentWrite[],
): Promise<PutResult> {
  let newCount = 0;
  let rest = writes;
  while (rest.length > 0) {
    const statements = statementsThatFit(rest.map(updateStatement));
    const [first] = rest;
    if (statements.length === 0 && first) {
      await applyTheLongWay(context, collection, first);
      rest = rest.slice(1);
      continue;
    }
    const answer = await runWrite(context, collection.namespace, {
      update: collection.namespace.coll,
      ordered: true,
      bypassDocumentValidation: true,
      updates: documentSequence('updates', statements),
    });
    for (const { index } of (answer['upserted'] ?? []) as { index: number }[])
      if (rest[index]?.kind === 'insert') newCount++;
    const [failed] = (answer['writeErrors'] ?? []) as Document[];
    if (!failed) {
      throwWriteErrors(answer, () => false);
      rest = rest.slice(statements.length);
      continue;
    }
    const error = new MongoServerError(failed);
    if (isTransient(error)) throw error;
    const index = Number(failed['index']);
    const write = rest[index];
    if (!write) throw error;
    context.logger.debug(
      { code: codeOf(error), kind: write.kind },
      'a change is applied the long way',
    );
    await applyTheLongWay(context, collection, write);
    rest = rest.slice(index + 1);
  }
  return { newCount, insertCount: writes.filter(({ kind }) => kind === 'insert').length };
}

/** As many of the statements as fit into one command, from the first on; none where the first one is too large for any. */
function statementsThatFit(statements: readonly RawDocument[]): readonly RawDocument[] {
  let bytes = 0;
  const end = statements.findIndex((statement) => {
    bytes += statement.length;
    return statement.length > maxStatementBytes || bytes > maxMessageBytes;
  });
  return end === -1 ? statements : statements.slice(0, end);
}

/**
 * Applies a change that the server refused: a whole document by deleting what stands at its id first (under a collation
 * the id may differ in case), an update by putting the document as it is now on the source. Where it is gone by now, its
 * delete is still to come. An index that refuses the document gives way (see insertDocuments).
 */
async function applyTheLongWay(
  context: SyncContext,
  collection: TrackedCollection,
  write: DocumentWrite,
): Promise<void> {
  const document =
    write.kind === 'update'
      ? await readDocument(context, collection.uuid, write.key.id)
      : write.document;
  if (document === undefined) return;
  await deleteDocuments(context, collection.namespace, [write]);
  await insertDocuments(context, collection.namespace, [document]);
}

/** Deletes documents by their ids, acknowledged by a majority. */
export async function deleteDocuments(
  context: SyncContext,
  namespace: Namespace,
  changes: readonly { readonly key: DocumentKey }[],
): Promise<void> {
  if (changes.length === 0) return;
  const answer = await runWrite(context, namespace, {
    delete: namespace.coll,
    ordered: false,
    deletes: documentSequence(
      'deletes',
      changes.map(({ key }) => deleteStatement(key)),
    ),
  });
  throwWriteErrors(answer, () => false);
}

async function runWrite(
  { destination, signal }: SyncContext,
  { db }: Namespace,
  command: Document,
): Promise<Document> {
  return await destination.decoded
    .db(db)
    .command({ ...command, writeConcern: { w: 'majority' } }, writeOptions(signal));
}
