import assert from 'node:assert/strict';
import { MongoClient, ObjectId } from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { idRangeQueries } from '../../../mongo/id-range.ts';
import { RawCursor } from '../../../mongo/raw-cursor.ts';
import { collectionAmount, splitRanges } from '../../../verifier/compare/split-ranges.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';

describe('the ranges of a collection that is verified', () => {
  const namespace = { db: 'shop', coll: 'rows' };
  let set: ReplicaSet;

  before(async () => {
    set = await startReplicaSet({ members: 1, name: 'ranges' });
  });
  after(async () => {
    await set.stop();
  });

  it('have about the same number of documents, though a sample is uneven', async () => {
    const wanted = 200;
    const rows = Array.from({ length: 20_000 }, (_, number) => ({ _id: new ObjectId(), number }));
    await using client = new MongoClient(set.uri('admin'));
    await client.db(namespace.db).collection(namespace.coll).insertMany(rows);
    const uri = set.uri('syncer');
    await using cluster = createClusterClient({ uri, option: 'uri', appName: 'ranges' });
    const { signal } = new AbortController();
    const readPreference = 'primary';
    const amount = await collectionAmount(cluster, namespace, signal);
    const split = { namespace, options: {}, amount };
    const side = { cluster, isSharded: false };
    const ranges = await splitRanges(side, split, amount.bytes / wanted, {
      signal,
      readPreference,
    });
    assert.ok(ranges.length >= wanted * 0.9, `${ranges.length} ranges`);
    const counts: number[] = [];
    for (const range of ranges) {
      let count = 0;
      for (const query of idRangeQueries(range)) {
        const find = { find: namespace.coll, ...query };
        await using cursor = await RawCursor.open(cluster.raw, namespace.db, find, { signal });
        for await (const { documents } of cursor.batches()) count += documents.length;
      }
      counts.push(count);
    }
    const most = Math.max(...counts);
    assert.ok(most <= 1.5 * (rows.length / wanted) + 1, `one has ${most} documents`);
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      rows.length,
    );
  });
});
