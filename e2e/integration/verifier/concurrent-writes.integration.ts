import assert from 'node:assert/strict';
import type { VerifierOptions } from '../../../verifier/options.ts';
import { until } from '../../ground/until.ts';
import { firstSeeds, shareOfDay } from '../../ground/workload/chosen-seeds.ts';
import { writeToBoth } from './mirrored-writer.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { openSession, type VerifierSession } from './verifier-session.ts';

/** The runs without a fault. More: VERIFIER_RUNS=200. */
const runs = process.env['VERIFIER_RUNS'];
const seeds = runs === undefined ? shareOfDay(firstSeeds(8), 2) : firstSeeds(Number(runs));

describe('verifier, while both sides are written to', () => {
  const pair = useReplicaSetPair();

  beforeEach(async () => {
    for (const db of [pair.source, pair.destination]) {
      await db.dropDatabase();
      await db.createCollection('capped', { capped: true, size: 4096 });
      const rows = Array.from({ length: 3000 }, (_, value) => ({ value, text: 'x'.repeat(100) }));
      await db
        .collection<object>('many')
        .insertMany(rows.map((row, index) => ({ _id: index, ...row })) as object[]);
    }
  });

  async function begin(
    comparison: VerifierOptions['comparison'] = 'bytes',
  ): Promise<VerifierSession> {
    const [from, to] = pair.sets.map((set) => set.uri('syncer'));
    assert.ok(from !== undefined && to !== undefined);
    const session = await openSession({ srcURI: from, destURI: to, comparison });
    await session.post('check');
    return session;
  }

  for (const seed of seeds) {
    it(`raises no false alarm, seed ${seed}`, async () => {
      await using session = await begin(seed % 2 === 0 ? 'hashes' : 'bytes');
      await writeToBoth(pair.source, pair.destination, { seed, operations: 1200 });
      await session.post('writesOff');
      const progress = await session.untilComplete();
      assert.deepEqual(progress.mismatches, []);
      assert.equal(progress.verdict, 'equal');
      assert.equal(progress.verificationStatus.failedTasks, 0);
      assert.ok(progress.generation > 0);
    });
  }

  it('raises no false alarm, and finds a fault, while primaries step down', async () => {
    await using session = await begin();
    const stop = new AbortController();
    const writing = writeToBoth(pair.source, pair.destination, {
      seed: 2000,
      operations: Infinity,
      signal: stop.signal,
      isOfDocuments: true,
    });
    try {
      await until('it has compared all', async () => {
        return (await session.progress()).documentsCompared >= 3000;
      });
      await pair.destination.collection<{ _id: number }>('many').deleteOne({ _id: 5 });
      await Promise.all(pair.sets.map(async (set) => await set.stepDown()));
    } finally {
      stop.abort();
      await writing;
    }
    await session.post('writesOff');
    const { mismatches } = await session.untilComplete();
    assert.deepEqual(mismatches, [
      { namespace: 'shop.many', kind: 'missingDocument', id: '{"$numberInt":"5"}' },
    ]);
  });

  for (const comparison of ['bytes', 'hashes'] as const)
    it(`finds a fault made while it follows changes, by ${comparison}`, async () => {
      await using session = await begin(comparison);
      const writing = writeToBoth(pair.source, pair.destination, { seed: 1000, operations: 1500 });
      await until('the first pass is over', async () => (await session.progress()).generation > 0);
      await pair.destination
        .collection<{ _id: number }>('many')
        .updateOne({ _id: 77 }, { $set: { value: 78 } });
      await writing;
      await session.post('writesOff');
      const progress = await session.untilComplete();
      assert.deepEqual(progress.mismatches, [
        {
          namespace: 'shop.many',
          kind: 'differentDocument',
          id: '{"$numberInt":"77"}',
          field: 'value',
          detail: 'another value',
          sourceType: 'int',
          destinationType: 'int',
        },
      ]);
    });

  it('forgives a fault that is repaired before the end', async () => {
    const many = pair.destination.collection<{ _id: number }>('many');
    await many.deleteOne({ _id: 5 });
    await pair.destination.createCollection('extra');
    await using session = await begin();
    await until('the faults are seen', async () => {
      const { mismatchCount, generation } = await session.progress();
      return generation > 0 && mismatchCount === 2;
    });
    await many.insertOne({ _id: 5, value: 5, text: 'x'.repeat(100) } as { _id: number });
    await pair.destination.dropCollection('extra');
    await session.post('writesOff');
    const progress = await session.untilComplete();
    assert.deepEqual(progress.mismatches, []);
    assert.equal(progress.verdict, 'equal');
  });

  it('takes indexes as they are during a sync for right until writes are off', async () => {
    await pair.source
      .collection('many')
      .createIndexes([
        { key: { value: 1 }, name: 'by_value', unique: true, expireAfterSeconds: 60 },
      ]);
    await pair.destination
      .collection('many')
      .createIndexes([{ key: { value: 1 }, name: 'by_value', expireAfterSeconds: 2147483647 }]);
    await using session = await begin();
    await until('the first pass is over', async () => {
      const { verificationStatus: status } = await session.progress();
      return status.totalTasks > 0 && status.completedTasks === status.totalTasks;
    });
    assert.equal((await session.progress()).mismatchCount, 0);
    await session.post('writesOff');
    const { mismatches } = await session.untilComplete();
    assert.deepEqual(
      mismatches.map(({ kind, index, field }) => ({ kind, index, field })),
      ['unique', 'expireAfterSeconds'].map((field) => {
        return { kind: 'differentIndex', index: 'by_value', field };
      }),
    );
  });
});
