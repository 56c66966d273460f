import { MongoServerError, type Document } from 'mongodb';
import { documentSequence } from '../../mongo/document-sequence.ts';
import { hashText } from '../../mongo/canonical-id.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { elementsOf, RawWriter, type RawDocument } from '../../mongo/raw-bson.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { codeOf, isTransient } from '../../mongo/server-errors.ts';
import { hasZeroTimestamp } from '../../mongo/zero-timestamp.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { insertDocuments, throwWriteErrors, writeOptions } from '../copy/insert-documents.ts';
import { retryingWrites } from '../earlier-writes.ts';
import type { TrackedCollection } from '../state/records.ts';
import type { SyncContext } from '../sync-context.ts';
import type { DocumentChange, DocumentKey } from './change-event.ts';
import { coalesce, type WriteBatch } from './coalesce.ts';
import { readDocument } from './read-document.ts';

/** The server takes 16 KiB above the largest document for a statement: it has an `_id` beside a document. */
const maxStatementBytes = 16 * 1024 * 1024 + 15 * 1024;

/** The server closes a connection on which a message of more than 48,000,000 bytes comes. */
const maxMessageBytes = 32_000_000;

/** Changes of a collection under this number are not worth more than one lane. */
const minLaneChanges = 50;

/** Changes that follow each other in the change stream, with no change of the catalog between them. */
export type ChangesByCollection = ReadonlyMap<string, DocumentChange[]>;

interface Job {
  readonly changes: readonly DocumentChange[];
  readonly run: () => Promise<void>;
}

/**
 * Applies changes to the destination. Changes of one document stay in order; others go side by side. May be repeated,
 * over any later state of the documents. When it resolves, a majority has them all.
 */
export async function applyChanges(
  context: SyncContext,
  changes: ChangesByCollection,
): Promise<void> {
  const jobs: Job[] = [];
  for (const [uuid, list] of changes) {
    const collection = context.catalog.collection(uuid);
    // A collection that is not tracked is outside the filter, or was dropped before the catalog was read.
    if (!collection) {
      context.monitor.addFinished(list.length);
      continue;
    }
    if (isTrue(collection.options['capped'])) {
      jobs.push({
        changes: list,
        run: async () => {
          await applyInOrder(context, collection, list);
        },
      });
      continue;
    }
    const isCollated = collection.options['collation'] !== undefined;
    for (const lane of lanesOf(collection, list, context.tuning.lanes)) {
      jobs.push({
        changes: lane,
        run: async () => {
          for (const batch of coalesce(lane, { isCollated }))
            await applyBatch(context, collection, batch);
        },
      });
    }
  }
  await forEachConcurrently(jobs, context.tuning.lanes, async ({ changes: done, run }) => {
    await retryingWrites(context, 'apply', run);
    for (const kind of ['insert', 'replace', 'update', 'delete'] as const) {
      context.monitor.addEvents(kind, done.filter((change) => change.kind === kind).length);
    }
    context.monitor.addFinished(done.length);
  });
}

/** Splits changes so that all of one document are in one lane. Under a collation equal ids are not to be told: one lane. */
function lanesOf(
  { options }: TrackedCollection,
  changes: DocumentChange[],
  maxLanes: number,
): DocumentChange[][] {
  const count = Math.min(maxLanes, Math.ceil(changes.length / minLaneChanges));
  if (count <= 1 || options['collation'] !== undefined) return [changes];
  const lanes = Array.from({ length: count }, (): DocumentChange[] => []);
  for (const change of changes) lanes[hashText(change.key.canonical) % count]?.push(change);
  return lanes.filter((lane) => lane.length > 0);
}

async function applyBatch(
  context: SyncContext,
  collection: TrackedCollection,
  batch: WriteBatch,
): Promise<void> {
  let rest = batch.writes;
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
    const [failed] = (answer['writeErrors'] ?? []) as Document[];
    if (!failed) {
      throwWriteErrors(answer, () => false);
      rest = rest.slice(statements.length);
      continue;
    }
    const error = new MongoServerError(failed);
    if (isTransient(error)) throw error;
    const index = Number(failed['index']);
    const change = rest[index];
    if (!change) throw error;
    context.logger.debug(
      { code: codeOf(error), kind: change.kind },
      'a change is applied the long way',
    );
    await applyTheLongWay(context, collection, change);
    rest = rest.slice(index + 1);
  }
  if (batch.deletes.length > 0) {
    await deleteDocuments(
      context,
      collection.namespace,
      batch.deletes.map(({ key }) => key),
    );
  }
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

/** A statement of the update command, as bytes. */
function updateStatement(change: WriteBatch['writes'][number]): RawDocument {
  const { id } = change.key;
  if (change.kind === 'update') {
    return new RawWriter(change.diff.length + id.length + 128)
      .begin('q')
      .value('_id', id)
      .end()
      .beginArray('u')
      .begin('0')
      .begin('$_internalApplyOplogUpdate')
      .begin('oplogUpdate')
      .int32('$v', 2)
      .value('diff', change.diff)
      .end()
      .end()
      .end()
      .end()
      .finish();
  }
  const writer = new RawWriter(change.document.length + id.length + 128)
    .begin('q')
    .value('_id', id)
    .end();
  if (hasDollarField(change.document) || hasZeroTimestamp(change.document)) {
    // As a replacement it would be taken for update operators, or be given the server's time.
    writer.literalReplacement('u', change.document);
  } else {
    writer.document('u', change.document);
  }
  return writer.boolean('upsert', true).finish();
}

function hasDollarField(document: RawDocument): boolean {
  return elementsOf(document).some(({ name }) => name.startsWith('$'));
}

/**
 * Applies a change that the server refused: a whole document by deleting what stands at its id first (under a collation
 * the id may differ in case), an update by putting the document as it is now on the source. Where it is gone by now, its
 * delete is still to come. An index that refuses the document gives way (see insertDocuments).
 */
async function applyTheLongWay(
  context: SyncContext,
  collection: TrackedCollection,
  change: WriteBatch['writes'][number],
): Promise<void> {
  const document =
    change.kind === 'update'
      ? await readDocument(context, collection.uuid, change.key.id)
      : change.document;
  if (document === undefined) return;
  await deleteDocuments(context, collection.namespace, [change.key]);
  await insertDocuments(context, collection.namespace, [document]);
}

/** A capped collection: one change after the other; an inserted document always goes to the end. */
async function applyInOrder(
  context: SyncContext,
  collection: TrackedCollection,
  changes: readonly DocumentChange[],
): Promise<void> {
  let inserts: Extract<DocumentChange, { kind: 'insert' | 'replace' }>[] = [];
  const flush = async (): Promise<void> => {
    if (inserts.length === 0) return;
    await deleteDocuments(
      context,
      collection.namespace,
      inserts.map(({ key }) => key),
    );
    await insertDocuments(
      context,
      collection.namespace,
      inserts.map(({ document }) => document),
    );
    inserts = [];
  };
  for (const change of changes) {
    if (
      change.kind === 'insert' &&
      !inserts.some(({ key }) => key.canonical === change.key.canonical)
    ) {
      inserts.push(change);
      continue;
    }
    await flush();
    if (change.kind === 'insert') inserts.push(change);
    else if (change.kind === 'delete')
      await deleteDocuments(context, collection.namespace, [change.key]);
    else await applyBatch(context, collection, { writes: [change], deletes: [] });
  }
  await flush();
}

async function deleteDocuments(
  context: SyncContext,
  namespace: Namespace,
  keys: readonly DocumentKey[],
): Promise<void> {
  const statements = keys.map(({ id }) =>
    new RawWriter().begin('q').value('_id', id).end().int32('limit', 1).finish(),
  );
  const answer = await runWrite(context, namespace, {
    delete: namespace.coll,
    ordered: false,
    deletes: documentSequence('deletes', statements),
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
