import assert from 'node:assert/strict';
import { Double, type Document } from 'mongodb';
import type { VerifierOptions } from '../../../verifier/options.ts';
import { useMergedPair } from '../syncer/merged-pair.ts';
import { verifyOnce } from './verifier-session.ts';

interface Item extends Document {
  _id: string | number | Double;
}

describe('the verifier from a sharded cluster to a replica set', () => {
  const pair = useMergedPair(2);
  const source = () => pair.source.client.db('shop').collection<Item>('items');
  const copies = () => pair.destination.client.db('shop').collection<Item>('items');

  beforeEach(async () => {
    await pair.reset();
    await pair.halves('shop.items', 500);
    const items = Array.from({ length: 1_000 }, (_, k) => ({ _id: k, k }));
    await source().insertMany(items);
    await copies().createIndexes([{ key: { k: 1 } }]);
    await copies().insertMany(items);
  });

  const verify = async (
    comparison: VerifierOptions['comparison'] = 'bytes',
  ): ReturnType<typeof verifyOnce> =>
    await verifyOnce({
      comparison,
      srcURI: pair.source.uri('syncer'),
      destURI: pair.destination.set.uri('syncer'),
      metaURI: pair.destination.set.uri('admin'),
    });

  it('compares neither shard keys nor zones, but the index on a shard key', async () => {
    await pair.admin({ addShardToZone: 'from-0', zone: 'near' });
    const range = { min: { k: 0 }, max: { k: 500 } };
    await pair.admin({ split: 'shop.items', middle: { k: 0 } });
    await pair.admin({ updateZoneKeyRange: 'shop.items', ...range, zone: 'near' });
    try {
      const { progress } = await verify();
      assert.deepEqual([progress.verdict, progress.documentsCompared], ['equal', 1_000]);
    } finally {
      await pair.admin({ updateZoneKeyRange: 'shop.items', ...range, zone: null });
      await pair.admin({ removeShardFromZone: 'from-0', zone: 'near' });
    }
    await copies().dropIndex('k_1');
    const { progress } = await verify();
    assert.deepEqual(progress.mismatches, [
      { namespace: 'shop.items', kind: 'missingIndex', index: 'k_1' },
    ]);
  });

  const low = { _id: 7, k: 7 };
  for (const [what, high, missingId] of [
    ['the same bytes', { _id: 7, k: 900, v: 'other' }, '{"$numberInt":"7"}'],
    ['another numeric type', { _id: new Double(7), k: 900 }, '{"$numberDouble":"7.0"}'],
  ] as const)
    for (const [isLowCopied, comparison] of [
      [true, 'bytes'],
      [true, 'hashes'],
      [false, 'bytes'],
      [false, 'hashes'],
    ] as const)
      it(`finds the one of two documents of an _id, ${what}, that was not copied, by ${comparison}: k ${isLowCopied ? high.k : low.k}`, async () => {
        await source().insertOne({ ...high });
        if (!isLowCopied) await copies().replaceOne({ _id: 7 }, { ...high, _id: 7 as never });
        const { progress } = await verify(comparison);
        assert.equal(progress.verdict, 'different');
        const told = progress.mismatches.map(({ kind, detail }) => [kind, detail]);
        const missing = ['missingDocument', 'another document has this _id'];
        const isSame = isLowCopied || typeof high._id === 'number';
        // With the low one's _id, the high one is no copy of itself either.
        if (isSame) assert.deepEqual(told, [missing]);
        else assert.equal(told.length, 2);
        if (isLowCopied) assert.equal(progress.mismatches[0]?.id, missingId);
      });
});
