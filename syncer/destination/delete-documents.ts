import type { Deployment } from '../../mongo/deployment.ts';
import { type Document, MongoServerError } from 'mongodb';
import { type DocumentKey, placedQuery } from '../../mongo/document-key.ts';
import { documentSequence } from '../../mongo/document-sequence.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { type RawDocument, type RawElement, RawWriter } from '../../mongo/raw-bson.ts';
import type { DestinationContext } from './destination-context.ts';
import { isScattered, type TrackedCollection } from '../store/records.ts';

/** What writing documents to the destination needs. */
export type WriteContext = Pick<DestinationContext, 'destination' | 'signal'>;

/** Sends a write of documents to the destination, and gives its answer: it quotes ids and keys, which are not UTF-8 at times. */
export async function runDocumentWrite(
  { destination, signal }: WriteContext,
  db: string,
  command: Document,
): Promise<Document> {
  return await destination.decoded.db(db).command(command, { signal, enableUtf8Validation: false });
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

/**
 * Deletes the documents that change events name, acknowledged by a majority: those of a sharded source by their shard keys
 * too. An update of a shard key can show as an insert with the new one, and then a delete with the old one.
 */
export async function deleteByKeys(
  context: WriteContext & { readonly source: Pick<Deployment, 'isSharded'> },
  collection: Pick<TrackedCollection, 'namespace' | 'options' | 'shardKey'>,
  keys: readonly DocumentKey[],
): Promise<void> {
  if (!context.source.isSharded || !isScattered(collection)) {
    await deleteDocuments(
      context,
      collection,
      keys.map(({ id }) => id),
    );
    return;
  }
  // Under a collation the server refuses to look for one document.
  const limit = collection.options['collation'] === undefined ? 1 : 0;
  const statements = keys.map((key) => {
    const query = placedQuery(key, collection.shardKey);
    return new RawWriter(query.length + 64).document('q', query).int32('limit', limit).finish();
  });
  await runDelete(context, collection.namespace, statements);
}

/** Deletes documents of a collection of the destination by their ids, acknowledged by a majority. */
export async function deleteDocuments(
  context: WriteContext,
  collection: Pick<TrackedCollection, 'namespace' | 'options' | 'shardKey'>,
  ids: readonly RawElement[],
): Promise<void> {
  const statements = isScattered(collection) ? deleteEverywhere(ids) : ids.map(deleteStatement);
  await runDelete(context, collection.namespace, statements);
}

async function runDelete(
  context: WriteContext,
  { db, coll }: Namespace,
  statements: readonly RawDocument[],
): Promise<void> {
  if (statements.length === 0) return;
  const command = {
    delete: coll,
    ordered: false,
    writeConcern: { w: 'majority' },
    deletes: documentSequence('deletes', statements),
  };
  const answer = await runDocumentWrite(context, db, command);
  throwWriteErrors(answer, () => false);
}

/** Bytes of ids in one statement: a document of the server holds them. */
const maxIdBytes = 8 * 1024 * 1024;

/** Statements of the delete command, as bytes, that delete whatever is at some ids, on every shard. */
function deleteEverywhere(ids: readonly RawElement[]): RawDocument[] {
  const statements: RawDocument[] = [];
  for (let next = 0; next < ids.length;) {
    const writer = new RawWriter().begin('q').begin('_id').beginArray('$in');
    let bytes = 0;
    for (let at = 0; next < ids.length && (at === 0 || bytes < maxIdBytes); at++, next++) {
      const id = ids[next];
      if (!id) break;
      writer.value(String(at), id);
      bytes += id.length;
    }
    statements.push(writer.end().end().end().int32('limit', 0).finish());
  }
  return statements;
}

/** A statement of the delete command, as bytes. */
function deleteStatement(id: RawElement): RawDocument {
  return new RawWriter(id.length + 64).begin('q').value('_id', id).end().int32('limit', 1).finish();
}
