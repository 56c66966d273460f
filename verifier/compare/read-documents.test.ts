import assert from 'node:assert/strict';
import { BSON, MaxKey, Timestamp, type Document } from 'mongodb';
import type { IdRange } from '../../mongo/id-range.ts';
import { playedCursors } from '../../mongo/testing/played-cursors.ts';
import { TokenBucket } from '../../service/token-bucket.ts';
import { FetchSize, readRange } from './read-documents.ts';

describe('FetchSize', () => {
  it('begins as it is told, and asks for one and a half megabytes when it knows the documents', () => {
    const size = new FetchSize(7);
    assert.equal(size.documents, 7);
    size.add({ count: 7, bytes: 7 * 1024 });
    assert.equal(size.documents, 1536);
    size.add({ count: 1, bytes: 1 });
    assert.ok(size.documents > 1536);
  });

  it('asks for one document at least, and not for more than 5000', () => {
    const large = new FetchSize();
    large.add({ count: 1, bytes: 16 * 1024 * 1024 });
    assert.equal(large.documents, 1);
    const { inStep } = large;
    inStep.add({ count: 1, bytes: 1 });
    assert.equal(inStep.documents, 1);
    large.add({ count: 31, bytes: 0 });
    assert.equal(inStep.documents, 3);
    const small = new FetchSize();
    small.add({ count: 1000, bytes: 30_000 });
    assert.equal(small.documents, 5000);
  });
});

describe('readRange', () => {
  const most = { _id: new MaxKey() };
  const above: IdRange = { min: { _id: 1 }, max: null };

  /** The documents that are read of a collection whose query of a range returns these batches, and that of MaxKey those. */
  async function read(
    range: IdRange,
    found: readonly (readonly Document[])[],
    ofMaxKey: readonly Document[],
  ): Promise<Document[]> {
    const left = [...found];
    const { cluster } = playedCursors((command) => {
      const isOfMaxKey = 'filter' in command;
      const documents = isOfMaxKey ? ofMaxKey : (left.shift() ?? []);
      return { documents, isOpen: !isOfMaxKey && left.length > 0 };
    });
    const signal = new AbortController().signal;
    const rateLimit = new TokenBucket(0);
    const context = { readPreference: 'primary', rateLimit, signal } as const;
    const side = { cluster, isSharded: false, readAfter: new Timestamp({ t: 7, i: 1 }) };
    const documents: Document[] = [];
    for await (const batch of readRange(context, side, { db: 'shop', coll: 'items' }, range))
      documents.push(...batch.documents.map((bytes) => BSON.deserialize(bytes)));
    assert.deepEqual(left, []);
    return documents;
  }

  it('reads MaxKey by a query of its own, from where a range that is open above ends before it', async () => {
    assert.deepEqual(await read(above, [[{ _id: 1 }], [{ _id: 2 }]], [most]), [
      { _id: 1 },
      { _id: 2 },
      most,
    ]);
    assert.deepEqual(await read(above, [[]], [most]), [most]);
    assert.deepEqual(await read({ min: null, max: { _id: 2 } }, [[{ _id: 1 }]], [most]), [
      { _id: 1 },
    ]);
  });

  it('reads MaxKey once of a clustered collection, where such a range reaches it', async () => {
    for (const batches of [[[{ _id: 1 }, most]], [[{ _id: 1 }], [most]]])
      assert.deepEqual(await read(above, batches, [most]), [{ _id: 1 }, most]);
    const [one, other] = [1, 2].map((shard): Document => ({ ...most, shard }));
    assert.ok(one && other);
    assert.deepEqual(await read(above, [[one], [other]], [one, other]), [one, other]);
  });
});
