import type { Timestamp } from 'mongodb';
import { type DocumentKey, placedQuery } from '../../mongo/document-key.ts';
import { documentSequence } from '../../mongo/document-sequence.ts';
import { FingerprintReader } from '../../mongo/fingerprints.ts';
import { anyOfElement, idGroupsOf, type Identified } from '../../mongo/id-groups.ts';
import type { IdRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { type RawDocument, type RawElement, RawWriter } from '../../mongo/raw-bson.ts';
import type { RawBatch } from '../../mongo/raw-cursor.ts';
import { throwWriteErrors, type WriteAnswer, type WriteError } from '../../mongo/write-answer.ts';
import { type Addressing, mayBeOnAnyShard, type TrackedCollection } from '../store/records.ts';
import { findMissing, findUnequal, runDocumentWrite } from './document-commands.ts';
import {
  insertBatch,
  insertDocuments,
  type InsertContext,
  type InsertedBatch,
  type InsertSettings,
} from './insert-documents.ts';
import { dropRefusingIndexes } from './refusing-indexes.ts';

/** A collection of the destination, with what locates its documents. */
type Target = Pick<TrackedCollection, 'namespace' | 'options' | 'shardKey'>;

/**
 * The documents of the destination. Each write bypasses document validation, sends bytes as they are, and is acknowledged by a
 * majority when it resolves, unless the caller waits for that. Nothing is retried here: what was sent may still be running, so
 * only a whole step is retried (Destination.step).
 */
export class DestinationDocuments {
  readonly #context: InsertContext;

  constructor(context: InsertContext) {
    this.#context = context;
  }

  /** Inserts documents as {@link insertDocuments} does. */
  async insert(
    namespace: Namespace,
    documents: readonly RawDocument[],
    settings: Partial<Pick<InsertSettings, 'isInOrder'>> = {},
  ): Promise<RawDocument[]> {
    return await insertDocuments(this.#context, namespace, documents, settings);
  }

  /** Inserts the documents of a fetch as {@link insertBatch} does. */
  async insertBatch(
    namespace: Namespace,
    batch: RawBatch,
    settings: InsertSettings,
  ): Promise<InsertedBatch> {
    return await insertBatch(this.#context, namespace, batch, settings);
  }

  /**
   * Inserts documents in any order.
   * @returns the write errors of the refused ones; all others are there.
   */
  async tryInsert(
    namespace: Namespace,
    documents: readonly RawDocument[],
  ): Promise<readonly WriteError[]> {
    const answer = await runDocumentWrite(this.#context, namespace.db, {
      insert: namespace.coll,
      ordered: false,
      bypassDocumentValidation: true,
      documents: documentSequence('documents', documents),
    });
    throwWriteErrors(answer, () => true);
    return answer.writeErrors;
  }

  /**
   * Runs update statements in order, up to the first refused one.
   * @returns the answer of the server, which may have one write error.
   * @throws MongoServerError if a majority may lack the statements before it.
   */
  async update({ db, coll }: Namespace, statements: readonly RawDocument[]): Promise<WriteAnswer> {
    const answer = await runDocumentWrite(this.#context, db, {
      update: coll,
      ordered: true,
      bypassDocumentValidation: true,
      updates: documentSequence('updates', statements),
    });
    throwWriteErrors(answer, () => true);
    return answer;
  }

  /** Deletes documents by their ids, wherever they are. */
  async delete(collection: Target, ids: readonly RawElement[]): Promise<void> {
    const statements = mayBeOnAnyShard(collection)
      ? deleteEverywhere(ids)
      : ids.map(deleteStatement);
    await this.#delete(collection.namespace, statements);
  }

  /**
   * Deletes the documents that change events name, and by their shard keys if the source reports them. An update of a shard
   * key can appear as an insert with the new key, and then a delete with the old one.
   */
  async deleteByKeys(
    collection: Target,
    addressing: Addressing,
    keys: readonly DocumentKey[],
  ): Promise<void> {
    if (addressing !== 'byShardKey') {
      await this.delete(
        collection,
        keys.map(({ id }) => id),
      );
      return;
    }
    // Under a collation the server refuses to look for a single document.
    const limit = collection.options['collation'] === undefined ? 1 : 0;
    const statements = keys.map((key) => {
      const query = placedQuery(key, collection.shardKey);
      return new RawWriter(query.length + 64).document('q', query).int32('limit', limit).finish();
    });
    await this.#delete(collection.namespace, statements);
  }

  /**
   * The fingerprints of a range's documents.
   * @param after - a cluster time of the destination: what is read is not older.
   */
  fingerprints(namespace: Namespace, range: IdRange, after: Timestamp): FingerprintReader {
    const { destination, signal } = this.#context;
    const readConcern = { level: 'majority', afterClusterTime: after };
    return new FingerprintReader(destination, { namespace, range, readConcern }, signal);
  }

  /** The changes whose `_id` no document has: see {@link findMissing}. */
  findMissing<T extends Identified>(
    namespace: Namespace,
    changes: readonly T[],
  ): AsyncGenerator<readonly T[]> {
    return findMissing(this.#context, namespace, changes);
  }

  /** The documents whose bytes no document has: see {@link findUnequal}. */
  async findUnequal(
    namespace: Namespace,
    documents: readonly RawDocument[],
  ): Promise<RawDocument[]> {
    return await findUnequal(this.#context, namespace, documents);
  }

  /** Drops the indexes that can refuse a document: see {@link dropRefusingIndexes}. */
  async dropRefusingIndexes(namespace: Namespace, error: unknown): Promise<void> {
    await dropRefusingIndexes(this.#context, namespace, error);
  }

  async #delete({ db, coll }: Namespace, statements: readonly RawDocument[]): Promise<void> {
    if (statements.length === 0) return;
    const answer = await runDocumentWrite(this.#context, db, {
      delete: coll,
      ordered: false,
      deletes: documentSequence('deletes', statements),
    });
    throwWriteErrors(answer, () => false);
  }
}

/** Statements of the delete command, as bytes, that delete everything with these ids, on every shard. */
function deleteEverywhere(ids: readonly RawElement[]): RawDocument[] {
  return [...idGroupsOf(ids)].map((group) => {
    const any = anyOfElement(group);
    return new RawWriter().begin('q').value('_id', any).end().int32('limit', 0).finish();
  });
}

/** A statement of the delete command, as bytes. */
function deleteStatement(id: RawElement): RawDocument {
  return new RawWriter(id.length + 64).begin('q').value('_id', id).end().int32('limit', 1).finish();
}
