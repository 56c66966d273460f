import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';

const mebibyte = 1024 * 1024;

describe('the answer of a server that signs its cluster time', () => {
  let set: ReplicaSet;
  before(async () => {
    set = await startReplicaSet({ members: 1 });
    await using admin = new MongoClient(set.uri('admin'));
    const filler = 'f'.repeat(2 * mebibyte);
    await admin.db('shop').collection('items').insertOne({ filler });
  });
  after(async () => {
    await set.stop();
  });

  for (const kind of ['raw', 'decoded'] as const) {
    it(`is not kept in memory by what keeps that time: ${kind}`, async () => {
      await using cluster = createClusterClient({
        uri: set.uri('syncer'),
        option: 'cluster0',
        appName: 'clustersync syncer syncer',
      });
      const client = cluster[kind];
      await using session = client.startSession();
      await client.db('shop').command({ find: 'items' }, { session });
      const hash = session.clusterTime?.signature?.hash.buffer;
      assert.ok(hash, 'the time is signed');
      assert.equal(hash.length, 20);
      assert.equal(hash.buffer.byteLength, hash.length);
    });
  }
});
