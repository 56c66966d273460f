import { type Document, MongoServerError } from 'mongodb';
import { documentSequence } from '../../mongo/document-sequence.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { codeOf, isRefused, isRefusedByIndex, isUnclear } from '../../mongo/server-errors.ts';
import type { DocumentWrite, WholeDocument } from './coalesce.ts';
import { updateStatement } from './write-statements.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { insertDeleted, maxPutTogether, putAsTheyAre } from '../copy/put-as-they-are.ts';
import {
  deleteDocuments,
  runDocumentWrite,
  throwWriteErrors,
} from '../destination/delete-documents.ts';
import { findMissing } from '../destination/find-missing.ts';
import { dropRefusingIndexes } from '../destination/loosen-indexes.ts';
import { idsOf } from '../source/change-event.ts';
import { readDocument } from '../source/read-document.ts';
import { isScattered, type TrackedCollection } from '../store/records.ts';

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
    if (!mayGoTheLongWay(error) || !insert) throw error;
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
  const isOnShards = context.source.isSharded && isScattered(collection);
  const settings = {
    isMulti: isScattered(collection) && collection.options['collation'] !== undefined,
    shardKey: isOnShards ? collection.shardKey : null,
  };
  let newCount = 0;
  let rest = writes;
  let together = 1;
  while (rest.length > 0) {
    const statements = statementsThatFit(rest.map((write) => updateStatement(write, settings)));
    const [first] = rest;
    if (statements.length === 0 && first) {
      if (isOnShards) await putAsTheyAre(context, collection, [first]);
      else await applyTheLongWay(context, collection, first);
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
    const done = failed ? Number(failed['index']) : statements.length;
    if (Number(answer['n']) < done) await putMissing(context, collection, rest.slice(0, done));
    if (!failed) {
      throwWriteErrors(answer, () => false);
      rest = rest.slice(statements.length);
      continue;
    }
    const error = new MongoServerError(failed);
    if (!mayGoTheLongWay(error)) throw error;
    const index = Number(failed['index']);
    const write = rest[index];
    if (!write) throw error;
    // Updates of the shard key come in numbers: where one is refused soon after another, more are taken with it.
    const isSoon = isScattered(collection) && rest !== writes && index <= together;
    together = isSoon ? Math.min(together * 4, maxPutTogether) : 1;
    context.logger.debug(
      { code: codeOf(error), kind: write.kind, together },
      'a change is applied the long way',
    );
    const taken = rest.slice(index, index + together);
    const isOfIndex = isTrue(collection.options['capped']) && isRefusedByIndex(error);
    if (isOfIndex && (await putInPlace(context, collection, write, error))) {
      rest = rest.slice(index + 1);
      continue;
    }
    if (together === 1 && !isOnShards) await applyTheLongWay(context, collection, write);
    else await putAsTheyAre(context, collection, taken);
    rest = rest.slice(index + taken.length);
  }
  return { newCount, insertCount: writes.filter(({ kind }) => kind === 'insert').length };
}

/**
 * Applies a change of a capped collection that an index has refused, without that index: what is deleted and inserted would
 * lose its place.
 * @returns false where it is refused for another reason.
 */
async function putInPlace(
  context: SyncContext,
  collection: TrackedCollection,
  write: DocumentWrite,
  error: unknown,
): Promise<boolean> {
  await dropRefusingIndexes(context, collection.namespace, error);
  const statement = updateStatement(write, { isMulti: false, shardKey: null });
  const answer = await runWrite(context, collection.namespace, {
    update: collection.namespace.coll,
    bypassDocumentValidation: true,
    updates: documentSequence('updates', [statement]),
  });
  const [failed] = (answer['writeErrors'] ?? []) as Document[];
  if (failed && !mayGoTheLongWay(new MongoServerError(failed))) throw new MongoServerError(failed);
  return failed === undefined;
}

/**
 * True for the refusal of a change that the document of the source can take the place of. What passes, or what a person has to
 * act on, is no such refusal. What is unclear may be: if the document is refused, too, that is tried again.
 */
function mayGoTheLongWay(error: unknown): boolean {
  return isRefused(error) || isUnclear(error);
}

/**
 * Puts the documents of updates that found none, where the source has them: what takes the place of a document is a delete
 * and an insert, and the process that did the first may have died before the second. Where they are gone from the source,
 * as when changes are repeated, nothing is put.
 */
async function putMissing(
  context: SyncContext,
  collection: TrackedCollection,
  writes: readonly DocumentWrite[],
): Promise<void> {
  const updates = writes.filter(({ kind }) => kind === 'update');
  for await (const missing of findMissing(context, collection, updates))
    await putAsTheyAre(context, collection, missing);
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
 * @throws SyncError OrphanInTheWay.
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
  await deleteDocuments(context, collection, idsOf([write]));
  await insertDeleted(context, collection, [document]);
}

/**
 * Puts whole documents, and updates others, where a document that stands there already may be on any shard: it is deleted
 * first, as no insert would be refused because of it. Acknowledged by a majority.
 * @throws SyncError OrphanInTheWay.
 */
export async function putScattered(
  context: SyncContext,
  collection: TrackedCollection,
  writes: readonly DocumentWrite[],
): Promise<void> {
  const whole = writes.filter((write) => write.kind !== 'update');
  if (whole.length > 0) {
    await deleteDocuments(context, collection, idsOf(whole));
    await insertDeleted(
      context,
      collection,
      whole.map(({ document }) => document),
    );
  }
  const updates = writes.filter(({ kind }) => kind === 'update');
  await putOrUpdate(context, collection, updates);
}

async function runWrite(
  context: SyncContext,
  { db }: Namespace,
  command: Document,
): Promise<Document> {
  return await runDocumentWrite(context, db, { ...command, writeConcern: { w: 'majority' } });
}
