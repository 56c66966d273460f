import assert from 'node:assert/strict';
import { majorVersion } from '../../../mongo/topology.ts';
import { mongodRelease } from '../../ground/mongod/mongod-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait } from './cluster-pair.ts';
import { useShardedPair } from './sharded-pair.ts';
import { slowOnShards } from './slow-commands.ts';

describe('a rename on a sharded source, where one shard renames later than another', () => {
  const pair = useShardedPair(2, 2);

  beforeEach(async () => {
    await pair.reset();
  });

  for (const [syncers, isKilled] of [
    ['one that lives', false],
    ['one that is killed meanwhile', true],
  ] as const) {
    it(`lets the collection that gives way be written to until then, which is followed by ${syncers}`, async () => {
      const { client, ground } = pair.source;
      assert.ok(ground);
      const shop = client.db('shop');
      const items = shop.collection<{ _id: number }>('items');
      await ground.admin({ enableSharding: 'shop', primaryShard: 'from-0' });
      await ground.admin({ shardCollection: 'shop.items', key: { _id: 'hashed' } });
      await items.insertMany(Array.from({ length: 100 }, (_, _id) => ({ _id })));
      const target = shop.collection<{ _id: number }>('target');
      await target.insertOne({ _id: 0 });
      await using syncer = await pair.syncing({});
      const namesOn = async (shard: string): Promise<unknown[]> => {
        const db = ground.cluster.shardClient(shard).db('shop');
        return (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
      };
      {
        const participant = ['_shardsvrRenameCollectionParticipant'];
        await using slow = await slowOnShards(ground, participant, 20_000, {
          shards: ['from-0'],
        });
        const renamed = items.rename('target', { dropTarget: true });
        await slow.reached(1);
        await until('the other shard has renamed', async () => {
          return (await namesOn('from-1')).includes('target');
        });
        if (isKilled) {
          // On 7.0.28, only the primary shard, which is the slow one, tells of it: the other's entry counts as a migration's.
          if (majorVersion(await mongodRelease('source')) < 7)
            await until('it has the rename', async () => (await syncer.log()).includes('"rename"'));
          await syncer.kill('SIGKILL');
        }
        await target.insertOne({ _id: 1 });
        await target.updateOne({ _id: 0 }, { $set: { late: true } });
        assert.ok((await namesOn('from-0')).includes('items'), 'the shard was not slow enough');
        await renamed;
      }
      if (isKilled) await syncer.restart();
      await target.insertOne({ _id: 1_000 });
      await syncer.waitFor(({ canCommit }) => canCommit);
      await commitAndWait(syncer);
      assert.equal(await pair.destination.collection('shop.target').countDocuments(), 101);
      await pair.assertEqual();
    });
  }
});
