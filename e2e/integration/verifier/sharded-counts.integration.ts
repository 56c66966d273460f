import assert from 'node:assert/strict';
import { verifierDatabase } from '../../../mongo/namespace.ts';
import { useShardedCluster, type Item } from '../../ground/sharded/use-sharded-cluster.ts';
import { until } from '../../ground/until.ts';
import { openSession } from './verifier-session.ts';

const documents = 1000;

describe('verifier, counts of sharded clusters', () => {
  const source = useShardedCluster({ shards: 2, name: 'one', syncerRoles: 'source' });
  const destination = useShardedCluster({ shards: 2, name: 'two', syncerRoles: 'destination' });
  const sides = [source, destination];

  before(async () => {
    for (const side of sides) {
      const [first, last] = side.cluster.shards;
      await side.admin({ enableSharding: 'shop', primaryShard: first });
      await side.admin({ shardCollection: 'shop.items', key: { k: 1 } });
      await side.admin({ split: 'shop.items', middle: { k: 5 } });
      await side.admin({ moveChunk: 'shop.items', find: { k: 5 }, to: last });
      const items = Array.from({ length: documents }, (_, _id): Item => ({ _id, k: _id % 10 }));
      await side.collection('shop.items').insertMany(items);
    }
  });

  it('are without documents that a shard has and no router shows, whatever came since they were read', async () => {
    await using session = await openSession({
      srcURI: source.cluster.uri('syncer'),
      destURI: destination.cluster.uri('syncer'),
      metaURI: destination.cluster.uri('admin'),
      includeNamespaces: JSON.stringify([{ database: 'shop' }]),
      verifyAll: false,
    });
    await session.post('check');
    await until('the first pass has read the collection', async () => {
      const coverages = destination.client.db(verifierDatabase).collection('coverages');
      return (await coverages.countDocuments({})) === 1;
    });
    for (const side of sides) {
      const [, last = ''] = side.cluster.shards;
      const orphans: Item[] = [
        { _id: 9001, k: 0 },
        { _id: 9002, k: 1 },
      ];
      await side.cluster.shardClient(last).db('shop').collection<Item>('items').insertMany(orphans);
      const items = side.collection('shop.items');
      await items.insertMany([
        { _id: 5001, k: 3 },
        { _id: 5002, k: 8 },
        { _id: 5003, k: 3 },
        { _id: 5004, k: 8 },
      ]);
      await items.deleteMany({ _id: { $in: [5003, 5004] } });
    }
    await session.post('writesOff');
    const { verdict, proof } = await session.untilComplete();
    const shown = await source.collection('shop.items').countDocuments({});
    assert.equal(shown, documents + 2);
    assert.equal(verdict, 'equal');
    assert.deepEqual(proof?.documentsCounted, { source: shown, destination: shown });
  });
});
