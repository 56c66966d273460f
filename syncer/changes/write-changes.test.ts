import assert from 'node:assert/strict';
import { BSON, Int32, MongoServerError, UUID } from 'mongodb';
import { pino } from 'pino';
import { canonicalKey } from '../../mongo/canonical-id.ts';
import { idElement, type RawDocument, type RawElement } from '../../mongo/raw-bson.ts';
import { decodeElement } from '../../mongo/raw-value.ts';
import { serverCode } from '../../mongo/server-errors.ts';
import type { WriteAnswer } from '../../mongo/write-answer.ts';
import type { Destination } from '../destination/destination.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';
import { ChangeWriter, type WholeDocument } from './write-changes.ts';

const cannotIndexParallelArrays = 171;
const transactionTooLargeForCache = 388;

const replacement = (id: number): WholeDocument => {
  const document = BSON.serialize({ _id: new Int32(id) });
  const element = idElement(document);
  const canonical = canonicalKey(element);
  return {
    kind: 'replace',
    key: { id: element, placed: undefined, exact: canonical, canonical },
    document,
  };
};

describe('ChangeWriter', () => {
  /** A writer to a server that refuses the first statement of the first commands, and the ids that it writes or deletes. */
  function writerRefusedBy(...refusals: number[]): {
    readonly write: (ids: readonly number[]) => Promise<void>;
    readonly written: readonly number[];
  } {
    // No server has a sharded capped collection: what would follow from one can only be shown here.
    const collection = {
      uuid: new UUID(),
      namespace: { db: 'db', coll: 'c' },
      options: { capped: true },
      shardKey: [{ field: 'k', kind: 1 }],
    } as unknown as TrackedCollection;
    const written: number[] = [];
    const note = (id: RawElement): void => {
      written.push(Number(decodeElement(id)));
    };
    const idOf = (statement: RawDocument): number =>
      (BSON.deserialize(statement) as { q: { _id: number } }).q._id;
    const answerTo = (statements: readonly RawDocument[]): WriteAnswer => {
      const code = refusals.shift();
      const answer = { n: 0, writeErrors: [], upserted: [], writeConcernError: undefined };
      if (code !== undefined) {
        const toError = (): MongoServerError => new MongoServerError({ message: '', code });
        return { ...answer, writeErrors: [{ index: 0, code, keyPattern: undefined, toError }] };
      }
      written.push(...statements.map(idOf));
      return { ...answer, n: statements.length };
    };
    const documents = {
      update: async (_: unknown, statements: readonly RawDocument[]) =>
        await Promise.resolve(answerTo(statements)),
      dropRefusingIndexes: async () => {
        await Promise.resolve();
      },
      delete: async (_: unknown, ids: readonly RawElement[]) => {
        ids.forEach(note);
        await Promise.resolve();
      },
    };
    const source = {
      kind: {
        addressingOf: () => 'onEveryShard',
        checkDuplicateIds: async () => {
          await Promise.resolve();
        },
      },
      documents: { read: () => [] },
    };
    const writer = new ChangeWriter(
      source as unknown as Source,
      { documents } as unknown as Destination,
      pino({ level: 'silent' }),
    );
    return {
      write: async (ids) => {
        await writer.putOrUpdate(collection, ids.map(replacement));
      },
      written,
    };
  }

  it('loses nothing where one of several refused changes is written in its place', async () => {
    const { write, written } = writerRefusedBy(
      serverCode.immutableField,
      cannotIndexParallelArrays,
    );
    await write([1, 2, 3, 4, 5, 6]);
    assert.deepEqual(written, [1, 2, 3, 4, 5, 6]);
  });

  it('puts nothing in the place of a change that a busy server had no room for', async () => {
    const { write, written } = writerRefusedBy(transactionTooLargeForCache);
    await assert.rejects(write([1, 2]), { code: transactionTooLargeForCache });
    assert.deepEqual(written, []);
  });
});
