import assert from 'node:assert/strict';
import { BSON } from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { deploymentOf } from '../../../mongo/deployment.ts';
import { createLogger } from '../../../service/logger.ts';
import { insertDocuments } from '../../../syncer/destination/insert-documents.ts';
import { useShardedCluster } from '../../ground/sharded/use-sharded-cluster.ts';
import { until } from '../../ground/until.ts';
import { builtIndexes } from './built-indexes.ts';
import { canBeSlow, holdCommands } from './slow-commands.ts';

describe('an index of a sharded cluster', () => {
  const ground = useShardedCluster({ shards: 2, parameters: canBeSlow });

  // The router lists the indexes of one shard only: one of the two cases is about what it does not list.
  for (const [building, finished, _id] of [
    [0, 1, 1],
    [1, 0, -1],
  ] as const) {
    it(`is dropped where one shard has finished it and refuses a document, while shard ${building} still builds it`, async () => {
      const { cluster, client } = ground;
      const [holder, refuser] = [cluster.shards[building] ?? '', cluster.shards[finished] ?? ''];
      await client.db('shop').dropDatabase();
      await ground.admin({ enableSharding: 'shop', primaryShard: cluster.shards[0] });
      await ground.admin({ shardCollection: 'shop.items', key: { _id: 1 } });
      await ground.admin({ split: 'shop.items', middle: { _id: 0 } });
      await ground.admin({ moveChunk: 'shop.items', find: { _id: 0 }, to: cluster.shards[1] });
      const items = ground.collection('shop.items');
      await items.insertMany([-2, 2].map((id) => ({ _id: id, a: 1, b: 1 })));

      let left: readonly string[] = [];
      let creating: Promise<unknown> = Promise.resolve();
      {
        await using held = await holdCommands(
          { client: cluster.shardClient(holder) },
          'createIndexes',
          'shop.items',
        );
        creating = Promise.allSettled([
          items.createIndexes([{ key: { a: 1, b: 1 }, name: 'two' }]),
        ]);
        await held.reached(1);
        const shop = cluster.shardClient(refuser).db('shop');
        await until('one shard has it', async () =>
          (await builtIndexes(shop, 'items')).includes('two'),
        );
        left = await leftByInsertOf(_id);
      }
      await creating;
      assert.deepEqual(left, ['two']);
      assert.equal(await items.countDocuments({ _id }), 1);
      for (const shard of [refuser, holder])
        assert.deepEqual(
          await builtIndexes(cluster.shardClient(shard).db('shop'), 'items'),
          ['_id_'],
          shard,
        );
    });
  }

  it('is dropped where it refuses a document of an unsharded collection', async () => {
    const { client } = ground;
    await client.db('shop').dropDatabase();
    const items = ground.collection('shop.items');
    await items.createIndexes([{ key: { a: 1, b: 1 }, name: 'two' }]);
    assert.deepEqual(await leftByInsertOf(1), ['two']);
    assert.equal(await items.countDocuments({ _id: 1 }), 1);
    assert.deepEqual(await builtIndexes(client.db('shop'), 'items'), ['_id_']);
  });

  /** Inserts a document that no index of `a` and `b` takes. @returns the indexes that are left then. */
  async function leftByInsertOf(_id: number): Promise<readonly string[]> {
    const { cluster } = ground;
    await using destination = createClusterClient({
      uri: cluster.uri('syncer'),
      option: 'cluster1',
      appName: 'clustersync syncer syncer',
    });
    const left: string[] = [];
    const context = {
      destination: deploymentOf(destination, { kind: 'sharded', shards: cluster.shards }),
      signal: AbortSignal.timeout(60_000),
      logger: createLogger('syncer', 'fatal'),
      leftIndexes: {
        leave: async (_namespace: unknown, name: string) => {
          await Promise.resolve(left.push(name));
        },
      },
    };
    const refused = BSON.serialize({ _id, a: [1, 2], b: [1, 2] });
    await insertDocuments(context, { db: 'shop', coll: 'items' }, [refused]);
    return left;
  }
});
