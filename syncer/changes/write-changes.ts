import { isStoredUnchanged } from '../../mongo/altered-documents.ts';
import { placedQuery } from '../../mongo/document-key.ts';
import { type RawDocument, type RawElement, RawWriter } from '../../mongo/raw-bson.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { codeOf, isRefused, isRefusedByIndex, isUnclear } from '../../mongo/server-errors.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import type { Logger } from '../../service/logger.ts';
import { insertDeleted, maxPutTogether, putAsTheyAre } from '../copy/put-as-they-are.ts';
import type { Destination } from '../destination/destination.ts';
import { type DocumentChange, idsOf } from '../source/change-event.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';

/** The server allows a statement 16 KiB more than the largest document: it has an `_id` beside a document. */
const maxStatementBytes = 16 * 1024 * 1024 + 15 * 1024;

/** The server closes a connection that sends a message of more than 48,000,000 bytes. */
const maxMessageBytes = 32_000_000;

/** A change that leaves a document. */
export type DocumentWrite = Exclude<DocumentChange, { readonly kind: 'delete' }>;

/** A change that includes the whole document. */
export type WholeDocument = Exclude<DocumentWrite, { readonly kind: 'update' }>;

/** How many of the inserts among some writes were new documents. */
export interface PutResult {
  readonly insertCount: number;
  readonly newCount: number;
}

/**
 * Writes changes of documents to the destination, in order, acknowledged by a majority. One rule applies if a change cannot be
 * written as it is: the document is put as it is on the source now. The later changes lead to that state, and may be repeated
 * over it. This covers what the server refuses, a statement that is too large to send, and an update that finds no document. A
 * document that is gone from the source is deleted, as a later change does.
 */
export class ChangeWriter {
  readonly #source: Source;
  readonly #destination: Destination;
  readonly #logger: Logger;

  constructor(source: Source, destination: Destination, logger: Logger) {
    this.#source = source;
    this.#destination = destination;
    this.#logger = logger;
  }

  /**
   * Inserts documents, acknowledged by a majority.
   * @returns those whose `_id` is there already, to be put as replacements.
   */
  async insertNew(
    { namespace }: TrackedCollection,
    inserts: readonly WholeDocument[],
  ): Promise<WholeDocument[]> {
    if (inserts.length === 0) return [];
    const documents = inserts.map(({ document }) => document);
    const refused: WholeDocument[] = [];
    for (const writeError of await this.#destination.documents.tryInsert(namespace, documents)) {
      const error = writeError.toError();
      const insert = inserts[writeError.index];
      if (!mayPutInstead(error) || !insert) throw error;
      refused.push(insert);
    }
    return refused;
  }

  /** Puts whole documents and updates others. */
  async putOrUpdate(
    collection: TrackedCollection,
    writes: readonly DocumentWrite[],
  ): Promise<PutResult> {
    const addressing = this.#source.kind.addressingOf(collection);
    const isOnAnyShard = addressing !== 'byId';
    const settings = {
      isMulti: isOnAnyShard && collection.options['collation'] !== undefined,
      shardKey: addressing === 'byShardKey' ? collection.shardKey : null,
    };
    let newCount = 0;
    let rest = writes;
    let together = 1;
    while (rest.length > 0) {
      const statements = statementsThatFit(rest.map((write) => updateStatement(write, settings)));
      if (statements.length === 0) {
        await this.put(collection, rest.slice(0, 1));
        rest = rest.slice(1);
        continue;
      }
      const answer = await this.#destination.documents.update(collection.namespace, statements);
      for (const index of answer.upserted) if (rest[index]?.kind === 'insert') newCount++;
      const [failed] = answer.writeErrors;
      const done = failed?.index ?? statements.length;
      if (answer.n < done) await this.#putMissing(collection, rest.slice(0, done));
      if (!failed) {
        rest = rest.slice(statements.length);
        continue;
      }
      const error = failed.toError();
      const write = rest[done];
      if (!mayPutInstead(error) || !write) throw error;
      // Updates of the shard key come in numbers: if one is refused soon after another, more are handled together with it.
      const isSoon = isOnAnyShard && rest !== writes && done <= together;
      together = isSoon ? Math.min(together * 4, maxPutTogether) : 1;
      this.#logger.debug(
        { code: codeOf(error), kind: write.kind, together },
        'a document is replaced by its version on the source',
      );
      rest = rest.slice(done);
      if (await this.#putInPlace(collection, write, error)) {
        rest = rest.slice(1);
        continue;
      }
      const taken = rest.slice(0, together);
      await this.put(collection, taken);
      rest = rest.slice(taken.length);
    }
    return { newCount, insertCount: writes.filter(({ kind }) => kind === 'insert').length };
  }

  /**
   * Puts whole documents, and updates others, if an existing document may be on any shard: it is deleted first, as it would not
   * make an insert fail. Acknowledged by a majority.
   * @throws SyncError OrphanInTheWay.
   */
  async putOnEveryShard(
    collection: TrackedCollection,
    writes: readonly DocumentWrite[],
  ): Promise<void> {
    await this.replace(
      collection,
      writes.filter((write) => write.kind !== 'update'),
    );
    await this.putOrUpdate(
      collection,
      writes.filter(({ kind }) => kind === 'update'),
    );
  }

  /**
   * Deletes everything with the ids of whole documents, and inserts them.
   * @throws SyncError OrphanInTheWay.
   */
  async replace(
    collection: TrackedCollection,
    whole: readonly WholeDocument[],
    settings: { readonly isInOrder?: boolean } = {},
  ): Promise<void> {
    if (whole.length === 0) return;
    await this.#destination.documents.delete(collection, idsOf(whole));
    await insertDeleted(
      this.#destination,
      collection,
      whole.map(({ document }) => document),
      settings,
    );
  }

  /** Puts the documents of some changes as they are on the source now: see {@link putAsTheyAre}. */
  async put(collection: TrackedCollection, changes: readonly DocumentChange[]): Promise<void> {
    await putAsTheyAre(this.#source, this.#destination, collection, changes);
  }

  /**
   * Applies a change of a capped collection that an index has refused, after dropping that index: a document that is deleted
   * and inserted would lose its place.
   * @returns false if the collection is not capped, or the change is refused for another reason.
   */
  async #putInPlace(
    { namespace, options }: TrackedCollection,
    write: DocumentWrite,
    error: unknown,
  ): Promise<boolean> {
    if (!isTrue(options['capped']) || !isRefusedByIndex(error)) return false;
    const { documents } = this.#destination;
    await documents.dropRefusingIndexes(namespace, error);
    const statement = updateStatement(write, { isMulti: false, shardKey: null });
    const { writeErrors } = await documents.update(namespace, [statement]);
    const [failed] = writeErrors;
    if (failed && !mayPutInstead(failed.toError())) throw failed.toError();
    return failed === undefined;
  }

  /**
   * Puts the documents of updates that found none, if the source has them: a document is replaced by a delete and an insert,
   * and the process may have died between the two. If they are gone from the source, as when changes are repeated, nothing is
   * put.
   */
  async #putMissing(
    collection: TrackedCollection,
    writes: readonly DocumentWrite[],
  ): Promise<void> {
    const updates = writes.filter(({ kind }) => kind === 'update');
    const { documents } = this.#destination;
    for await (const missing of documents.findMissing(collection.namespace, updates))
      await this.put(collection, missing);
  }
}

/**
 * True if a refused change can be replaced by the document of the source. That excludes temporary errors, and those that a
 * person has to act on. It includes unclear ones: if the document is refused, too, that is retried.
 */
function mayPutInstead(error: unknown): boolean {
  return isRefused(error) || isUnclear(error);
}

/** As many of the statements as fit into one command, from the first on; none if the first is too large for any command. */
function statementsThatFit(statements: readonly RawDocument[]): readonly RawDocument[] {
  let bytes = 0;
  const end = statements.findIndex((statement) => {
    bytes += statement.length;
    return statement.length > maxStatementBytes || bytes > maxMessageBytes;
  });
  return end === -1 ? statements : statements.slice(0, end);
}

/** How statements identify documents. */
export interface StatementSettings {
  /** Update everything with the id on every shard: under a collation the server refuses to look for a single document there. */
  readonly isMulti: boolean;
  /** Of a collection that is sharded on the source; null for others. */
  readonly shardKey: ShardKey | null;
}

/** A statement of the update command, as bytes: an upsert of a whole document, or the oplog's own difference. */
export function updateStatement(
  write: DocumentWrite,
  { isMulti, shardKey }: StatementSettings,
): RawDocument {
  const { id } = write.key;
  // With its shard key it matches the one document that changed: not another of its id, to which it has been moved.
  const query = shardKey === null ? undefined : placedQuery(write.key, shardKey);
  if (write.kind === 'update') {
    const writer = new RawWriter(write.diff.length + (query ?? id).length + 128);
    writeQuery(writer, id, query)
      .beginArray('u')
      .begin('0')
      .begin('$_internalApplyOplogUpdate')
      .begin('oplogUpdate')
      .int32('$v', 2)
      .value('diff', write.diff)
      .end()
      .end()
      .end()
      .end();
    if (isMulti) writer.boolean('multi', true);
    return writer.finish();
  }
  const writer = new RawWriter(write.document.length + (query ?? id).length + 128);
  writeQuery(writer, id, query);
  if (isStoredUnchanged(write.document)) {
    writer.document('u', write.document);
  } else {
    writer.literalReplacement('u', write.document);
  }
  return writer.boolean('upsert', true).finish();
}

function writeQuery(writer: RawWriter, id: RawElement, query: RawDocument | undefined): RawWriter {
  return query ? writer.document('q', query) : writer.begin('q').value('_id', id).end();
}
