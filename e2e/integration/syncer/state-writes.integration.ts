import { MongoClient, type Document } from 'mongodb';
import { assertEqualClusters } from '../../ground/compare.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { startSyncerProcess } from '../../ground/syncer-process.ts';
import { commitAndWait, forward } from './cluster-pair.ts';
import { assertDurable, commandsFor } from './durable-writes.ts';

describe('what a sync stores about itself', () => {
  let source: ReplicaSet;
  let destination: ProxiedReplicaSet;
  before(async () => {
    [source, destination] = await Promise.all([
      startReplicaSet({ name: 'source', members: 1 }),
      startProxiedReplicaSet({ name: 'destination', members: 1 }),
    ]);
  });
  after(async () => {
    await source.stop();
    await destination[Symbol.asyncDispose]();
  });

  it('is acknowledged by a majority that has it in its journal, so that no rollback takes it back', async () => {
    const sent = commandsFor('clustersync_internal', destination);
    await using client = new MongoClient(source.uri('admin'));
    const shop = client.db('shop');
    const text = 'x'.repeat(1_000);
    await shop.collection('large').insertMany(Array.from({ length: 200 }, (_, n) => ({ n, text })));
    await shop.createCollection('view', { viewOn: 'large', pipeline: [] });
    await using syncer = await startSyncerProcess({
      cluster0: source.uri('syncer'),
      cluster1: destination.set.uri('syncer'),
      options: { partitionMebibytes: 0.05 },
    });
    await syncer.start(forward);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await shop.createCollection('later');
    await shop.createCollection('another view', { viewOn: 'later', pipeline: [] });
    await shop.collection('large').rename('renamed');
    await shop.collection('view').drop();
    await shop.collection('later').drop();
    await syncer.waitFor(({ totalEventsApplied }) => (totalEventsApplied ?? 0) >= 5);
    await commitAndWait(syncer);
    await assertEqualClusters(source.uri('admin'), destination.set.uri('admin'));

    const expected = [
      'findAndModify sync',
      'update sync',
      'findAndModify instances',
      'update instances',
      'update collections',
      'delete collections',
      'insert partitions',
      'update partitions',
      'update views',
      'delete views',
    ];
    assertDurable(sent, expected, isHeartbeat);
  });
});

/** Says only that the instance is alive, and is lost without harm. */
function isHeartbeat({ update, updates }: Document): boolean {
  const [one] = (updates ?? []) as readonly { readonly u: { readonly $set?: Document } }[];
  return update === 'instances' && Object.keys(one?.u.$set ?? {}).join() === 'heartbeatAt';
}
