import assert from 'node:assert/strict';
import { BSON, Double, Int32, Timestamp, type Document } from 'mongodb';
import { fakeCluster, wholeCursor } from '../../mongo/testing/fake-cluster.ts';
import { TokenBucket } from '../../service/token-bucket.ts';
import { maxDifferences } from './batch-matcher.ts';
import {
  compareIds,
  compareOrder,
  compareRange,
  compareUnordered,
  type CompareContext,
  type Comparison,
} from './compare-documents.ts';
import { idKey, idText } from './id-key.ts';
import type { Side } from './sides.ts';

const namespace = { db: 'shop', coll: 'items' };
const keyOf = (_id: unknown): string => idKey(BSON.serialize({ _id }));

/** A side that finds numbers as a server does: 1 is 1.0. */
function sideWith(documents: readonly Document[]): Side {
  const cluster = fakeCluster(({ find, filter, min, max }) => {
    assert.equal(find, namespace.coll);
    const ids = (filter as { _id?: { $in: unknown[] } } | undefined)?._id?.$in.map(Number);
    const bound = (given: unknown, otherwise: number): number =>
      given === undefined ? otherwise : Number((given as Document)['_id']);
    return wholeCursor(
      documents.filter(({ _id }) => {
        const isBetween =
          Number(_id) >= bound(min, -Infinity) && Number(_id) < bound(max, Infinity);
        return ids === undefined ? isBetween : ids.includes(Number(_id));
      }),
    );
  });
  return { cluster, isSharded: false, readAfter: new Timestamp({ t: 1, i: 1 }) };
}

/** Counts in `counted` what a person is shown. */
function contextOf(
  source: readonly Document[],
  destination: readonly Document[],
  counted = { documents: 0 },
): CompareContext {
  return {
    source: sideWith(source),
    destination: sideWith(destination),
    monitor: {
      addCompared: ({ count }) => {
        counted.documents += count;
      },
    },
    reportValues: false,
    readPreference: 'primary',
    rateLimit: new TokenBucket(1),
    signal: new AbortController().signal,
  };
}

const differences = ({ found }: Comparison): string[] =>
  found.map(({ kind, id }) => `${kind} ${idText(id).replace(/\D/g, '')}`).sort();

const numbered = (count: number, first = 0): Document[] =>
  Array.from({ length: count }, (_, index) => ({ _id: first + index }));
const whole = { min: null, max: null };
const [a, b, c, d] = [{ _id: 1 }, { _id: 2, v: 1 }, { _id: 3 }, { _id: 4 }] as const;
const changedB = { _id: 2, v: 2 };

describe('compareRange', () => {
  it('counts what it has read of each side, equal or not', async () => {
    for (const [destination, expected] of [
      [[a, b, c], []],
      [
        [a, changedB, c, d],
        ['differentDocument 2', 'extraDocument 4'],
      ],
      [[], ['missingDocument 1', 'missingDocument 2', 'missingDocument 3']],
    ] as const) {
      const counted = { documents: 0 };
      const context = contextOf([a, b, c], destination, counted);
      const comparison = await compareRange(context, namespace, whole);
      assert.deepEqual(differences(comparison), expected);
      const { read, compared, isOverflowing } = comparison;
      assert.deepEqual(read, { source: 3, destination: destination.length, hashed: 0 });
      assert.equal(compared.documents, 3);
      assert.equal(counted.documents, 3);
      assert.equal(isOverflowing, false);
    }
  });

  it('reports what differs within its bounds alone', async () => {
    const range = { min: { _id: 2 }, max: { _id: 4 } };
    const comparison = await compareRange(contextOf([a, b, c, d], [changedB]), namespace, range);
    assert.deepEqual(differences(comparison), ['differentDocument 2', 'missingDocument 3']);
  });

  it('tells that there are more differences than it keeps, and no longer how much it has read', async () => {
    const context = contextOf(numbered(maxDifferences + 1), []);
    const { isOverflowing, read } = await compareRange(context, namespace, whole);
    assert.equal(isOverflowing, true);
    assert.equal(read, null);
  });

  it('shows values only where they are asked for', async () => {
    for (const reportValues of [false, true]) {
      const context = { ...contextOf([b], [changedB]), reportValues };
      for (const { found } of [
        await compareRange(context, namespace, whole),
        await compareIds(context, namespace, [keyOf(2)]),
      ])
        assert.equal(found[0]?.destinationValue !== undefined, reportValues);
    }
  });
});

describe('compareIds', () => {
  const ids = [1, 2, 3, 4, 5].map(keyOf);

  it('finds what differs, and nothing in ids that neither side has', async () => {
    const comparison = await compareIds(contextOf([a, b, c], [a, changedB, d]), namespace, ids);
    assert.deepEqual(differences(comparison), [
      'differentDocument 2',
      'extraDocument 4',
      'missingDocument 3',
    ]);
    assert.equal(comparison.compared.documents, 3);
    assert.equal(comparison.read, null);
  });

  it('finds nothing in equal documents, and counts them', async () => {
    const counted = { documents: 0 };
    const comparison = await compareIds(contextOf([a, b], [a, b], counted), namespace, ids);
    assert.deepEqual(differences(comparison), []);
    assert.equal(comparison.compared.documents, 2);
    assert.equal(counted.documents, 2);
  });

  it('finds a document that has the same number as _id in another type once', async () => {
    const context = contextOf([{ _id: new Int32(1) }], [{ _id: new Double(1.5) }]);
    assert.deepEqual(await compareIds(context, namespace, [keyOf(9)]).then(differences), []);
    const both = [keyOf(new Int32(1)), keyOf(new Double(1))];
    const other = contextOf([{ _id: new Int32(1) }], [{ _id: new Double(1) }]);
    const { found } = await compareIds(other, namespace, both);
    assert.deepEqual(
      found.map(({ kind, id, destinationId }) => [kind, id, destinationId]),
      [['differentDocument', both[0], both[1]]],
    );
  });

  it('finds what the destination alone has, if only that is asked for', async () => {
    const comparison = await compareIds(contextOf([], [a, b]), namespace, [keyOf(2)]);
    assert.deepEqual(differences(comparison), ['extraDocument 2']);
  });
});

describe('compareUnordered', () => {
  it('finds each difference once, from the side that has the document', async () => {
    const context = contextOf([a, b, c], [d, changedB, a]);
    const comparison = await compareUnordered(context, namespace);
    assert.deepEqual(differences(comparison), [
      'differentDocument 2',
      'extraDocument 4',
      'missingDocument 3',
    ]);
    assert.deepEqual(comparison.read, { source: 3, destination: 3, hashed: 0 });
    assert.equal(comparison.compared.documents, 3);
    assert.equal(comparison.isOverflowing, false);
  });

  it('finds nothing in the same documents in another order', async () => {
    const { found } = await compareUnordered(contextOf([a, b, c], [c, a, b]), namespace);
    assert.deepEqual(found, []);
  });
});

describe('compareOrder', () => {
  it('is the first document at another position', async () => {
    for (const [source, destination, expected] of [
      [[a, b, c], [a, b, c], undefined],
      [[a, b, c], [a, c, b], 2],
      [[], [], undefined],
    ] as const) {
      const difference = await compareOrder(contextOf(source, destination), namespace);
      assert.equal(difference?.id, expected === undefined ? undefined : keyOf(expected));
      assert.equal(difference?.kind, expected === undefined ? undefined : 'documentOrder');
    }
  });
});
