import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { writeNoop } from '../../../mongo/cluster-time.ts';
import { isTransient } from '../../../mongo/server-errors.ts';
import { startReplicaSet } from '../../ground/mongod/replica-set.ts';

describe('a no-op on a server that is locked', () => {
  it('fails with an error that passes, and is written afterwards', async () => {
    await using set = await startReplicaSet({ members: 1 });
    await using admin = new MongoClient(set.uri('admin'));
    await using cluster = createClusterClient({
      uri: set.uri('syncer'),
      option: 'cluster0',
      appName: 'noop',
    });
    const { signal } = new AbortController();
    const before = await writeNoop(cluster, 'test', signal);
    await admin.db('admin').command({ fsync: 1, lock: true });
    try {
      await assert.rejects(writeNoop(cluster, 'test', signal), isTransient);
    } finally {
      await admin.db('admin').command({ fsyncUnlock: 1 });
    }
    assert.ok((await writeNoop(cluster, 'test', signal)).greaterThan(before));
  });
});
