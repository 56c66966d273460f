import { MongoServerError, type Document } from 'mongodb';
import { documentSequence } from '../../mongo/document-sequence.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import { codeOf, isTransient, serverCode } from '../../mongo/server-errors.ts';
import { dropRefusingIndexes } from '../catalog/loosen-indexes.ts';
import type { SyncContext } from '../sync-context.ts';

/**
 * Inserts documents as bytes, past validation, acknowledged by a majority. A document whose `_id` is there already is
 * left as it is there: it comes from an earlier attempt, and change events bring it up to date. On one server an
 * unordered insert still keeps the order.
 */
export async function insertDocuments(
  context: Pick<SyncContext, 'destination' | 'signal' | 'logger' | 'options'>,
  namespace: Namespace,
  documents: readonly RawDocument[],
): Promise<void> {
  try {
    await insertOnce(context, namespace, documents);
  } catch (error) {
    if (codeOf(error) === undefined || isTransient(error)) throw error;
    await dropRefusingIndexes(context, namespace);
    await insertOnce(context, namespace, documents);
  }
}

async function insertOnce(
  { destination, signal }: Pick<SyncContext, 'destination' | 'signal'>,
  { db, coll }: Namespace,
  documents: readonly RawDocument[],
): Promise<void> {
  const answer = await destination.decoded.db(db).command(
    {
      insert: coll,
      ordered: false,
      bypassDocumentValidation: true,
      writeConcern: { w: 'majority' },
      documents: documentSequence('documents', documents),
    },
    { signal },
  );
  throwWriteErrors(
    answer,
    ({ code, keyPattern }) => code === serverCode.duplicateKey && isIdKey(keyPattern),
  );
}

/** Throws what a write command reports in an answer that is `ok`, except for write errors that are expected. */
export function throwWriteErrors(
  answer: Document,
  isExpected: (writeError: Document) => boolean,
): void {
  const writeErrors = (answer['writeErrors'] ?? []) as Document[];
  const unexpected = writeErrors.find((writeError) => !isExpected(writeError));
  if (unexpected) throw new MongoServerError(unexpected);
  const concern = answer['writeConcernError'] as Document | undefined;
  if (concern) throw new MongoServerError(concern);
}

function isIdKey(keyPattern: unknown): boolean {
  return keyPattern === undefined || Object.keys(keyPattern as object).join() === '_id';
}
