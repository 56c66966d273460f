import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON, Long } from 'mongodb';
import { compareBuckets, compareFingerprints } from './compared-fingerprints.ts';
import { maxSummed, type Bucket, type Fingerprint } from './fingerprints.ts';
import { idElement } from './raw-bson.ts';

/** A side that has these buckets. */
function sideOf(buckets: Readonly<Record<number, Bucket>>): {
  readonly buckets: () => Promise<ReadonlyMap<number, Bucket>>;
} {
  const map = new Map(Object.entries(buckets).map(([key, bucket]) => [Number(key), bucket]));
  return { buckets: async () => await Promise.resolve(map) };
}

const bucket: Bucket = { documents: 3, bytes: 100, sum: 7n };

describe('compareBuckets', () => {
  it('takes buckets as equal only if their number, bytes and hashes are', async () => {
    const source = { 1: bucket, 2: bucket, 3: bucket, 4: bucket, 5: bucket };
    const destination = {
      1: bucket,
      2: { ...bucket, documents: 2 },
      3: { ...bucket, bytes: 99 },
      4: { ...bucket, sum: 8n },
      6: bucket,
    };
    assert.deepEqual(
      await compareBuckets({ source: sideOf(source), destination: sideOf(destination) }),
      {
        read: { source: { documents: 15, bytes: 500 }, destination: { documents: 14, bytes: 499 } },
        equalDocuments: 3,
        differingDocuments: 15,
        differing: [[2, 3, 4, 5, 6]],
      },
    );
  });

  it('does not believe a sum that 64 bits may not have held', async () => {
    const [full, tooFull] = [
      { ...bucket, documents: maxSummed },
      { ...bucket, documents: maxSummed + 1 },
    ];
    const side = sideOf({ 1: full, 2: tooFull });
    const { equalDocuments, differing } = await compareBuckets({
      source: side,
      destination: side,
    });
    assert.equal(maxSummed, 32_768);
    assert.deepEqual([equalDocuments, differing], [maxSummed, [[2]]]);
  });

  it('groups what differs, so that no more than 20,000 documents of a side are held at a time', async () => {
    const of = (documents: number): Bucket => ({ ...bucket, documents });
    const source = sideOf({ 1: of(9_000), 2: of(11_000), 3: of(1), 4: of(30_000), 5: of(1) });
    const destination = sideOf({});
    const { differing } = await compareBuckets({ source, destination });
    assert.deepEqual(differing, [[1, 2], [3], [4], [5]]);
    const long = { ...bucket, bytes: 41_000_000 };
    const ofLong = sideOf({ 1: long, 2: long, 3: bucket });
    const groups = await compareBuckets({ source: ofLong, destination });
    assert.deepEqual(groups.differing, [[1], [2, 3]], 'as their ids may be as long');
  });
});

interface Row {
  readonly id: number;
  readonly hash: number;
}

async function* fingerprintsOf(rows: readonly Row[]): AsyncGenerator<Fingerprint, void> {
  for (const { id, hash } of rows) {
    const _id = Long.fromNumber(id);
    yield await Promise.resolve({ id: idElement(BSON.serialize({ _id })), hash: BigInt(hash) });
  }
}

/** Few ids and hashes: a side has several documents of an `_id` then, as on several shards. */
const rowsOfSide = fc.array(
  fc.record({ id: fc.integer({ min: 0, max: 9 }), hash: fc.constantFrom(-1, 1, 1000) }),
  { maxLength: 12 },
);

describe('compareFingerprints', () => {
  it('accounts for each document of both sides: it is equal, or its id is told', async () => {
    await fc.assert(
      fc.asyncProperty(rowsOfSide, rowsOfSide, async (source, destination) => {
        const { equalDocuments, differing } = await compareFingerprints(
          { source, destination },
          fingerprintsOf,
        );
        const told = new Set(
          differing.map(({ bytes }) => Number(Buffer.from(bytes).readBigInt64LE())),
        );
        assert.equal(told.size, differing.length, 'each id once');
        for (const side of [source, destination])
          assert.equal(equalDocuments + side.filter(({ id }) => told.has(id)).length, side.length);
        const hashesOf = (side: readonly Row[], wanted: number): readonly number[] =>
          side.filter(({ id }) => id === wanted).map(({ hash }) => hash);
        for (let id = 0; id < 10; id++) {
          const [one, other] = [hashesOf(source, id), hashesOf(destination, id)];
          const sum = (hashes: readonly number[]): number => hashes.reduce((a, b) => a + b, 0);
          assert.equal(told.has(id), one.length !== other.length || sum(one) !== sum(other));
        }
      }),
    );
  });
});
