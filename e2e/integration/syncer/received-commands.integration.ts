import assert from 'node:assert/strict';
import { MongoClient, type Document } from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { RecordStore, stateDatabase } from '../../../syncer/store/record-store.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';

const signal = new AbortController().signal;

/** A sync of one instance that was given no command yet. */
const record = { instances: ['syncer'], commandCount: 0 };

describe('a command whose answer was lost', () => {
  let set: ReplicaSet;
  before(async () => {
    set = await startReplicaSet({ members: 1, parameters: { enableTestCommands: 1 } });
  });
  after(async () => {
    await set.stop();
  });

  it('is known as received, also where a majority does not have it yet', async () => {
    await using cluster = createClusterClient({
      ...{ uri: set.uri('admin'), option: 'cluster1', appName: 'test' },
    });
    await using client = new MongoClient(set.uri('admin'));
    const admin = client.db('admin');
    const records = stateDatabase(cluster).collection<{ _id: string } & Document>('sync');
    await records.insertOne({ _id: 'sync', ...record, received: [0] });
    const store = new RecordStore(cluster, 'syncer', signal);
    const snapshots = async (disabled: 'alwaysOn' | 'off'): Promise<void> => {
      await admin.command({ configureFailPoint: 'disableSnapshotting', mode: disabled });
    };
    await snapshots('alwaysOn');
    try {
      // As the first attempt has, before the primary changed.
      await client
        .db(records.dbName)
        .collection<{ _id: string }>('sync')
        .updateOne(
          { _id: 'sync' },
          { $set: { commandCount: 1, received: [1] } },
          { writeConcern: { w: 1 } },
        );
      assert.equal((await records.findOne({ _id: 'sync' }))?.['commandCount'], 0);
      const received = store.receiveCommand(record, { command: 'commit' });
      await until('it waits for a majority', async () => {
        const running = admin.aggregate([
          { $currentOp: {} },
          { $match: { 'command.update': 'sync', 'command.$db': records.dbName } },
        ]);
        return (await running.toArray()).length > 0;
      });
      await snapshots('off');
      // The next write takes a snapshot.
      await client.db('other').collection('a').insertOne({});
      assert.equal(await received, true);
      assert.equal(await store.receiveCommand(record, { command: 'commit' }), true);
    } finally {
      await snapshots('off');
    }
  });

  it('is not known as received where another instance was given another', async () => {
    await using cluster = createClusterClient({
      ...{ uri: set.uri('admin'), option: 'cluster1', appName: 'test' },
    });
    const records = stateDatabase(cluster).collection<{ _id: string } & Document>('sync');
    await records.replaceOne(
      { _id: 'sync' },
      { commandCount: 1, received: [0, 1] },
      { upsert: true },
    );
    const store = new RecordStore(cluster, 'a', signal);
    const two = { instances: ['a', 'b'], commandCount: 0 };
    assert.equal(await store.receiveCommand(two, { command: 'reverse' }), false);
  });
});
