import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { startSyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { forward } from './cluster-pair.ts';
import { canBeSlow, holdCommands } from './slow-commands.ts';

describe('a start that deletes what another sync has left, and loses the connection', () => {
  let source: ReplicaSet;
  let destination: ProxiedReplicaSet;
  before(async () => {
    source = await startReplicaSet({ members: 1, name: 'source' });
    const parameters = canBeSlow;
    destination = await startProxiedReplicaSet({ members: 1, name: 'destination', parameters });
  });
  after(async () => {
    await destination[Symbol.asyncDispose]();
    await source.stop();
  });

  it('stores nothing until the server has ended the delete', async () => {
    await using from = new MongoClient(source.uri('admin'));
    await using to = new MongoClient(destination.set.uri('admin'));
    const namespaces = ['orders', 'items', 'customers'];
    for (const collection of namespaces)
      await from.db('shop').collection(collection).insertOne({ collection });
    await to.db('shop').dropDatabase();
    await to.db('clustersync_internal').dropDatabase();
    await using syncer = await startSyncerProcess({
      cluster0: source.uri('syncer'),
      cluster1: destination.set.uri('syncer'),
    });

    const held = await holdCommands({ client: to }, 'delete');
    const deletes = async (): Promise<unknown[]> => {
      const ofAll = { $currentOp: { allUsers: true } };
      const ofState = { op: 'remove', ns: { $regex: '^clustersync_internal' } };
      const found = await to
        .db('admin')
        .aggregate([ofAll, { $match: ofState }])
        .toArray();
      return found.map(({ opid }) => opid as unknown).sort();
    };
    try {
      await syncer.start(forward);
      // Those of the partitions and of the left indexes, side by side.
      await held.reached(2);
      const first = await deletes();
      assert.equal(first.length, 2);
      for (const proxy of destination.proxies) proxy.cut();
      await until('it waits, or deletes again', async () => {
        assert.deepEqual(await deletes(), first);
        return (await syncer.log()).includes('waiting for earlier writes');
      });
    } finally {
      await held[Symbol.asyncDispose]();
    }
    await syncer.waitFor(({ canCommit }) => canCommit);
    const stored = await to.db('clustersync_internal').collection('collections').find().toArray();
    assert.deepEqual(
      stored.map(({ namespace: of }) => (of as { coll: string }).coll).sort(),
      namespaces.toSorted(),
    );
  });
});
