import assert from 'node:assert/strict';
import fc from 'fast-check';
import { MaxKey, ObjectId, UUID, type Document } from 'mongodb';
import type {
  CopyEvidence,
  Partition,
  StoredPartition,
  TrackedCollection,
} from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';
import { CopyProver, proofOf, type CopyProof } from './copy-proof.ts';
import type { RangeCopier } from './copy-range.ts';

describe('proofOf', () => {
  const collection = new UUID();
  // Of several types, in the order of the index on _id.
  const bounds: readonly Document[] = [
    { _id: null },
    { _id: 1.5 },
    { _id: 'a' },
    { _id: { x: 1 } },
    { _id: new ObjectId('0123456789abcdef01234567') },
    { _id: true },
    { _id: new Date(0) },
  ];

  function chain(points: readonly Document[], isCopied = true): StoredPartition[] {
    return [null, ...points].map((min, index) => ({
      ...{ collection, index, min, isCopied },
      max: points[index] ?? null,
    }));
  }

  function judge(partitions: readonly StoredPartition[] | null, isCopied = false): CopyProof {
    return proofOf({ collection, isCopied, partitions });
  }

  /** Every gap as [index, min, max]. */
  function gapsOf(partitions: readonly StoredPartition[]): unknown[] {
    const proof = judge(partitions);
    assert.equal(proof.kind, 'gaps');
    return proof.gaps.map(({ index, min, max }) => [index, min, max]);
  }

  it('is proven by a chain of copied partitions from end to end, in whatever order they are read', () => {
    fc.assert(
      fc.property(fc.nat(bounds.length), fc.infiniteStream(fc.nat()), (count, numbers) => {
        const stored = chain(bounds.slice(0, count))
          .map((partition) => ({ partition, place: Number(numbers.next().value) }))
          .sort((left, right) => left.place - right.place);
        const partitions = stored.map(({ partition }) => partition);
        assert.deepEqual(judge(partitions), { kind: 'proven' });
      }),
    );
  });

  it('is proven by the record of the whole where there are no partitions, and by nothing else', () => {
    assert.equal(judge(null, true).kind, 'proven');
    assert.equal(judge(null, false).kind, 'nothing');
  });

  it('shows each set of records that are missing or not copied as the ranges that they were', () => {
    const whole = chain(bounds);
    const fates = fc.array(fc.constantFrom('copied', 'not copied', 'missing'), {
      minLength: whole.length,
      maxLength: whole.length,
    });
    fc.assert(
      fc.property(fates, fc.boolean(), (fate, isMarkedWhole) => {
        const stored = whole
          .map((partition, at) => ({ ...partition, isCopied: fate[at] === 'copied' }))
          .filter((_, at) => fate[at] !== 'missing');
        const proof = judge(stored, isMarkedWhole);
        const isWhole = fate.every((one) => one === 'copied');
        assert.equal(proof.kind, isWhole ? 'proven' : 'gaps');
        if (proof.kind !== 'gaps') return;
        assert.equal(proof.recorded, stored.length);
        // Once the gaps are copied and stored, nothing is missing.
        const indexes = new Set(proof.gaps.map(({ index }) => index));
        const kept = stored.filter(({ index }) => !indexes.has(index));
        assert.ok(kept.every(({ isCopied }) => isCopied));
        const made = proof.gaps.map((gap) => ({ ...gap, isCopied: true }));
        assert.deepEqual(judge([...kept, ...made]), { kind: 'proven' });
      }),
    );
  });

  it('gives a gap at the beginning, in the middle, at the end, and the whole where no record is left', () => {
    const [first, second, third] = bounds;
    const whole = chain([first, second, third].flatMap((bound) => bound ?? []));
    const without = (...indexes: number[]): StoredPartition[] =>
      whole.filter(({ index }) => !indexes.includes(index));
    assert.deepEqual(gapsOf(without(0)), [[0, null, first]]);
    assert.deepEqual(gapsOf(without(1)), [[1, first, second]]);
    assert.deepEqual(gapsOf(without(1, 2)), [[1, first, third]]);
    assert.deepEqual(gapsOf(without(3)), [[3, third, null]]);
    assert.deepEqual(gapsOf(without(0, 3)), [
      [0, null, first],
      [3, third, null],
    ]);
    assert.deepEqual(gapsOf([]), [[0, null, null]]);
  });

  it('takes nothing from records that cannot all be right, as of two plans', () => {
    const one = chain([{ _id: 1 }, { _id: 3 }]);
    const other = chain([{ _id: 2 }, { _id: 4 }, { _id: 5 }]);
    const mixtures = [
      [one[0], other[1], one[2]],
      [one[0], one[1], one[2], other[3]],
      [other[1], other[2], other[3]].map(
        (partition, index) => partition && { ...partition, index },
      ),
      [one[0], one[1], one[2], { ...one[0], index: 3 }],
      // A range after the one that is open above, or a second one that is open below, does not follow a hole.
      [one[0], one[1], one[2], other[3] && { ...other[3], index: 5 }],
      [one[0], one[2] && { ...one[2], min: null, index: 5 }],
      // The same number in another type is not the same bound.
      [one[0], one[1] && { ...one[1], min: { _id: new MaxKey() } }, one[2]],
    ];
    for (const mixture of mixtures)
      assert.equal(
        judge(mixture.flatMap((part) => part ?? []) as StoredPartition[]).kind,
        'nothing',
      );
  });
});

describe('CopyProver', () => {
  it('copies what is not proven as what an earlier attempt may have left there, and records it', async () => {
    const named = (coll: string): TrackedCollection =>
      ({ uuid: new UUID(), namespace: { db: 'shop', coll } }) as unknown as TrackedCollection;
    const [parted, whole] = [named('parted'), named('whole')];
    const partition = { collection: parted.uuid, index: 0, min: null, max: null };
    let isCopied = false;
    const evidenceOf = ({ uuid }: TrackedCollection): CopyEvidence => ({
      ...{ collection: uuid, isCopied },
      partitions: uuid === parted.uuid ? [{ ...partition, isCopied }] : null,
    });
    const log: unknown[] = [];
    const store = {
      readCopyEvidence: async () =>
        await Promise.resolve(
          new Map([parted, whole].map((one) => [one.uuid.toHexString(false), evidenceOf(one)])),
        ),
      warn: async (warning: string) => {
        log.push(warning);
        await Promise.resolve();
      },
      putCopiedPartition: async ({ index }: Partition, bytes: number) => {
        log.push(['recorded', index, bytes]);
        await Promise.resolve();
      },
      completeUnpartitioned: async ({ namespace }: TrackedCollection, bytes: number) => {
        log.push(['recorded', namespace.coll, bytes]);
        isCopied = true;
        await Promise.resolve();
      },
    };
    const copier = {
      copyRange: async (
        { namespace }: TrackedCollection,
        range: Partition | 'all',
        settings: object,
      ) => {
        log.push([namespace.coll, range === 'all' ? range : range.index, settings]);
        return await Promise.resolve(7);
      },
    };
    const prover = new CopyProver(
      copier as unknown as RangeCopier,
      { collections: () => [parted, whole] } as unknown as TrackedCatalog,
      store as unknown as WorkStore,
      1,
    );
    await prover.prove(2);
    const [warning, ...done] = log;
    assert.match(String(warning), /shop\.parted .*shop\.whole /);
    const isRepeated = true;
    assert.deepEqual(done, [
      ['parted', 0, { isRepeated }],
      ['recorded', 0, 7],
      ['whole', 'all', { isRepeated }],
      ['recorded', 'whole', 7],
    ]);
  });
});
