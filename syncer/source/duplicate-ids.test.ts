import assert from 'node:assert/strict';
import { BSON, Double, Int32, Timestamp, type Document } from 'mongodb';
import { fakeCluster, wholeCursor } from '../../mongo/testing/fake-cluster.ts';
import { decodeElement } from '../../mongo/raw-value.ts';
import { idElement, type RawElement } from '../../mongo/raw-bson.ts';
import { duplicateIdsError, duplicatesAmong, findDuplicateIds } from './duplicate-ids.ts';

const { signal } = new AbortController();
const namespace = { db: 'shop', coll: 'items' };
const element = (_id: unknown): RawElement => idElement(BSON.serialize({ _id }));
const now = new Timestamp({ t: 7, i: 1 });

/** Answers a scan of the indexes with ids, and every look-up of ids with those that are twice there. */
function sharded(scanned: readonly unknown[], twice: readonly unknown[], asked: Document[] = []) {
  return fakeCluster((command) => {
    if (command['hello'] !== undefined) return { lastWrite: { majorityOpTime: { ts: now } } };
    if (command['find'] !== undefined) return wholeCursor(scanned.map((_id) => ({ _id })));
    asked.push(command);
    const [stage] = command['pipeline'] as { $match?: { _id?: { $in: unknown[] } } }[];
    const ids = stage?.$match?._id?.$in.map(Number);
    const found = twice.filter((id) => ids?.includes(Number(id)) ?? true);
    return wholeCursor(found.map((_id) => ({ _id, count: 2 })));
  });
}

async function duplicates(
  scanned: readonly unknown[],
  twice: readonly unknown[],
  { options = {}, asked }: { options?: Document; asked?: Document[] } = {},
): Promise<number[]> {
  const cluster = sharded(scanned, twice, asked);
  const found = await findDuplicateIds(cluster, { namespace, options }, signal);
  return found.map((id) => Number(decodeElement(id)));
}

/** The ids that a look-up has asked for. */
function idsIn({ pipeline }: Document): number[] {
  const [{ $match }] = pipeline as [{ $match: { _id: { $in: unknown[] } } }];
  return $match._id.$in.map(Number);
}

describe('findDuplicateIds', () => {
  it('looks up what the indexes of the shards have twice, at one time, and nothing else', async () => {
    const asked: Document[] = [];
    assert.deepEqual(await duplicates([1, 2, 2, 3, 4, 4], [2], { asked }), [2]);
    assert.deepEqual(asked.map(idsIn), [[2, 4]]);
    assert.deepEqual(asked[0]?.['readConcern'], { level: 'snapshot', afterClusterTime: now });
  });

  it('asks for nothing where no id is there twice', async () => {
    const asked: Document[] = [];
    assert.deepEqual(await duplicates([1, 2, 3], [1, 2, 3], { asked }), []);
    assert.deepEqual(asked, []);
  });

  it('takes numbers for one id that are one key to the server', async () => {
    assert.deepEqual(await duplicates([new Int32(1), new Double(1)], [1]), [1]);
  });

  it('has a server compare the ids of a collection with a collation', async () => {
    const asked: Document[] = [];
    const options = { collation: { locale: 'fr' } };
    assert.deepEqual(await duplicates([1, 1], [2], { options, asked }), [2]);
    assert.equal(asked.length, 2, 'what the grouping has found may have been orphans');
  });

  it('looks up at most 500 at a time, and no more once it has a few', async () => {
    const ids = Array.from({ length: 1200 }, (_, id) => [id, id]).flat();
    const asked: Document[] = [];
    assert.deepEqual(await duplicates(ids, [], { asked }), []);
    assert.deepEqual(
      asked.map((each) => idsIn(each).length),
      [500, 500, 200],
    );
    const twice = [0, 1, 2, 3, 4, 5, 600];
    const again: Document[] = [];
    assert.deepEqual(await duplicates(ids, twice, { asked: again }), [0, 1, 2, 3, 4]);
    assert.equal(again.length, 1);
  });
});

describe('duplicatesAmong', () => {
  it('asks for groups of ids until it has a few', async () => {
    const ids = Array.from({ length: 1200 }, (_, id) => element(id));
    for (const [twice, requests] of [
      [[1000], 3],
      [[0, 1, 2, 3], 3],
      [[0, 1, 2, 3, 4], 1],
      [[0, 1, 2, 3, 500], 2],
    ] as const) {
      const asked: Document[] = [];
      const found = await duplicatesAmong(sharded([], twice, asked), namespace, ids, {}, signal);
      assert.deepEqual(
        found.map((id) => Number(decodeElement(id))),
        twice,
      );
      assert.equal(asked.length, requests);
    }
  });
});

describe('duplicateIdsError', () => {
  it('names a few ids, each in part if it is long', () => {
    const ids = [1, 2, 'x'.repeat(1000), 4, 5, 6].map(element);
    const { name, message } = duplicateIdsError(namespace, ids);
    assert.equal(name, 'DuplicateIds');
    assert.match(
      message,
      /^shop\.items has .* _id 1, 2, "x{1,255}… \(cut\), 4, 5, on different shards/,
    );
    assert.match(duplicateIdsError(undefined, ids).message, /^a collection has/);
  });
});
