import assert from 'node:assert/strict';
import { Timestamp, UUID } from 'mongodb';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import type { CopyEvidence, Partition, TrackedCollection } from '../../../syncer/store/records.ts';
import { SyncStore } from '../../../syncer/store/store.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';

describe('what is recorded of a copy', () => {
  const uuid = new UUID();
  let set: ReplicaSet;
  let cluster: ClusterClient;
  let store: SyncStore;

  before(async () => {
    set = await startReplicaSet({ members: 1 });
    cluster = createClusterClient({ uri: set.uri('syncer'), option: 'cluster1', appName: 'copy' });
  });
  beforeEach(async () => {
    store = new SyncStore(cluster, 'syncer', new AbortController().signal);
    await store.clear();
    await store.takeOwnership();
    await store.putCollections([collection]);
  });
  after(async () => {
    await cluster[Symbol.asyncDispose]();
    await set.stop();
  });

  const namespace = { db: 'shop', coll: 'items' };
  const time = new Timestamp({ t: 1, i: 1 });
  const collection: TrackedCollection = {
    ...{ uuid, namespace, options: {}, indexes: [], shardKey: null },
    ...{ destinationUuid: null, replacedUuid: null },
    ...{ namedAt: time, namedBy: time, specifiedAt: time },
    ...{ isAdopted: false, isCopied: false, sizeBytes: 0, documentCount: 0 },
  };

  async function evidence(): Promise<CopyEvidence | undefined> {
    return (await store.readCopyEvidence()).get(uuid.toHexString(false));
  }

  it('is no partition that is not stored with these bounds', async () => {
    const [first, second]: Partition[] = [
      { collection: uuid, index: 0, min: null, max: { _id: 1 } },
      { collection: uuid, index: 1, min: { _id: 1 }, max: null },
    ];
    assert.ok(first && second);
    await store.partitions.put(uuid, [first, second]);
    for (const other of [
      { ...first, max: { _id: 2 } },
      { ...second, min: { _id: 2 } },
      { ...second, max: { _id: 9 } },
      { ...first, index: 2 },
    ])
      await store.completePartition(other, 1);
    const copied = async (): Promise<boolean[] | undefined> =>
      (await evidence())?.partitions?.map(({ isCopied }) => isCopied);
    assert.deepEqual(await copied(), [false, false]);
    await store.completePartition(second, 1);
    assert.deepEqual(await copied(), [false, true]);
  });

  it('is nothing of a division into partitions that was broken off, which another one replaces', async () => {
    const bounds = [null, { _id: 1 }, { _id: 2 }, null];
    const former = bounds.slice(1).map((max, index): Partition => {
      return { collection: uuid, index, min: bounds[index] ?? null, max };
    });
    await store.partitions.put(uuid, former);
    // What marks the division as whole comes last.
    const end = { '_id.collection': uuid, '_id.index': -1 };
    const stored = cluster.decoded.db('clustersync_internal').collection('partitions');
    assert.equal((await stored.deleteOne(end)).deletedCount, 1);
    const [first, second]: Partition[] = [
      { collection: uuid, index: 0, min: null, max: { _id: 5 } },
      { collection: uuid, index: 1, min: { _id: 5 }, max: null },
    ];
    assert.ok(first && second);
    await store.partitions.put(uuid, [first, second]);
    const found = (await evidence())?.partitions?.map(({ index, min, max }) => {
      return [index, min === null, max === null];
    });
    assert.deepEqual(found, [
      [0, true, false],
      [1, false, true],
    ]);
  });

  it('is no collection that is not stored', async () => {
    const completing = store.completeCollections([uuid, new UUID()], 1);
    await assert.rejects(completing, { name: 'CopyIncomplete' });
    await store.completeCollections([uuid], 1);
    assert.equal((await evidence())?.isCopied, true);
  });
});
