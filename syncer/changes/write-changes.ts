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
import type { DocumentWrite, WholeDocument } from './batch-parts.ts';

/** The server takes 16 KiB above the largest document for a statement: it has an `_id` beside a document. */
const maxStatementBytes = 16 * 1024 * 1024 + 15 * 1024;

/** The server closes a connection on which a message of more than 48,000,000 bytes comes. */
const maxMessageBytes = 32_000_000;

/** How many of the inserts among some writes met no document. */
export interface PutResult {
  readonly insertCount: number;
  readonly newCount: number;
}

/**
 * Writes changes of documents to the destination, in order, acknowledged by a majority. One rule for what cannot be written as
 * the change says it: the document is put as it is on the source now. That is where the later changes lead to, and they may be
 * repeated over it. So it is with what the server refuses, with a statement that is too large to send, and with an update that
 * meets no document; a document that is gone from the source is deleted, as a later change does.
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
      // Updates of the shard key come in numbers: where one is refused soon after another, more are taken with it.
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
   * Puts whole documents, and updates others, where a document that stands there already may be on any shard: it is deleted
   * first, as no insert would be refused because of it. Acknowledged by a majority.
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
   * Deletes whatever stands at the ids of whole documents, and inserts them.
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
   * Applies a change of a capped collection that an index has refused, without that index: what is deleted and inserted would
   * lose its place.
   * @returns false where the collection is not capped, or the change is refused for another reason.
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
   * Puts the documents of updates that found none, where the source has them: what takes the place of a document is a delete
   * and an insert, and the process that did the first may have died before the second. Where they are gone from the source,
   * as when changes are repeated, nothing is put.
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
 * True for the refusal of a change that the document of the source can take the place of. What passes, or what a person has to
 * act on, is no such refusal. What is unclear may be: if the document is refused, too, that is tried again.
 */
function mayPutInstead(error: unknown): boolean {
  return isRefused(error) || isUnclear(error);
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

/** How statements name documents. */
export interface StatementSettings {
  /** An update of what is at the id on every shard: under a collation the server refuses to look for one document there. */
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
  // With its shard key it is the one document that the change was of: not another of its id, to which it has been moved.
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
