import assert from 'node:assert/strict';
import { BSON } from 'mongodb';
import { deploymentOf } from '../../../mongo/deployment.ts';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import { idElement } from '../../../mongo/raw-bson.ts';
import { decodeElement } from '../../../mongo/raw-value.ts';
import { createLogger } from '../../../service/logger.ts';
import { insertDocuments } from '../../../syncer/destination/insert-documents.ts';
import type { ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { useClusterPair } from './cluster-pair.ts';
import { idsOfEveryType } from './every-id.ts';

describe('documents that are copied again', () => {
  const pair = useClusterPair();
  const kinds = {
    'an ordinary collection': {},
    'a clustered collection': { clusteredIndex: { key: { _id: 1 }, unique: true } },
  };
  for (const [what, options] of Object.entries(kinds)) {
    it(`are left as they are, whatever their _id, in ${what}`, async () => {
      const { client, set } = pair.destination;
      await client.db('shop').dropDatabase();
      const items = await client.db('shop').createCollection('items', options);
      await using destination = clientOf(set);
      const context = contextOf(destination);
      const insert = async (value: number): Promise<void> => {
        const documents = idsOfEveryType().map((_id) => BSON.serialize({ _id, value }));
        await insertDocuments(context, { db: 'shop', coll: 'items' }, documents);
      };
      await insert(1);
      const count = await items.countDocuments({});
      await insert(2);
      assert.equal(await items.countDocuments({ value: 1 }), count);
      assert.equal(await items.countDocuments({}), count);
    });
  }

  it('are in their order in a capped collection, where some are there and an index refuses others', async () => {
    const { client, set } = pair.destination;
    await client.db('shop').dropDatabase();
    const items = await client.db('shop').createCollection('items', { capped: true, size: 1e6 });
    await items.createIndexes([{ key: { n: 1 } }, { key: { a: 1, b: 1 } }]);
    await using destination = clientOf(set);
    const left: string[] = [];
    const context = contextOf(destination, left);
    const insert = async (last: number): Promise<unknown[]> => {
      const documents = Array.from({ length: last + 1 }, (_, n) =>
        // Two that no index of both fields takes.
        BSON.serialize({ _id: n, n, ...(n === 5 || n === 8 ? { a: [1, 2], b: [1, 2] } : {}) }),
      );
      const taken = await insertDocuments(context, { db: 'shop', coll: 'items' }, documents, {
        isInOrder: true,
      });
      return taken.map((document) => Number(decodeElement(idElement(document))));
    };
    assert.deepEqual(await insert(2), []);
    assert.deepEqual(await insert(10), [0, 1, 2]);
    const numbers = (await items.find().toArray()).map(({ _id }) => Number(_id));
    assert.deepEqual(
      numbers,
      Array.from({ length: 11 }, (_, n) => n),
    );
    assert.deepEqual(Object.keys(await items.indexInformation()), ['_id_', 'n_1']);
    assert.deepEqual(left, ['a_1_b_1']);
    assert.deepEqual(await insert(10), numbers);
  });
});

function clientOf(set: ReplicaSet): ClusterClient {
  return createClusterClient({
    uri: set.uri('syncer'),
    option: 'cluster1',
    appName: 'clustersync syncer syncer',
  });
}

function contextOf(
  destination: ClusterClient,
  left: string[] = [],
): Parameters<typeof insertDocuments>[0] {
  return {
    destination: deploymentOf(destination, { kind: 'replicaSet', shards: [] }),
    signal: AbortSignal.timeout(60_000),
    logger: createLogger('syncer', 'fatal'),
    leftIndexes: {
      leave: async (_namespace, name) => {
        await Promise.resolve(left.push(name));
      },
    },
  };
}
