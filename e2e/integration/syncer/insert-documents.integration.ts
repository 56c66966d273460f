import assert from 'node:assert/strict';
import { BSON, Timestamp } from 'mongodb';
import { deploymentOf } from '../../../mongo/deployment.ts';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import { idElement } from '../../../mongo/raw-bson.ts';
import { RawBatch } from '../../../mongo/raw-cursor.ts';
import { decodeElement } from '../../../mongo/raw-value.ts';
import { createLogger } from '../../../service/logger.ts';
import { insertBatch, insertDocuments } from '../../../syncer/destination/insert-documents.ts';
import type { ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { useClusterPair } from './cluster-pair.ts';
import { idsOfEveryType } from './every-id.ts';

const namespace = { db: 'shop', coll: 'items' };

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
        await insertDocuments(context, namespace, documents);
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
      const taken = await insertDocuments(context, namespace, documents, {
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

  it('are no reason to skip one that a unique index of the destination refuses', async () => {
    const { client, set } = pair.destination;
    await client.db('shop').dropDatabase();
    const items = client.db('shop').collection<{ _id: number; n: number }>('items');
    await items.createIndexes([{ key: { n: 1 }, unique: true }]);
    await items.insertOne({ _id: 1, n: 1 });
    await using destination = clientOf(set);
    const left: string[] = [];
    const documents = [{ _id: 2, n: 1 }].map((document) => BSON.serialize(document));
    const inserting = insertDocuments(contextOf(destination, left), namespace, documents);
    await assert.rejects(inserting, { name: 'MongoServerError', code: 11_000 });
    assert.deepEqual(left, []);
    assert.deepEqual(await items.distinct('_id'), [1]);
  });

  const there = new Timestamp({ t: 5, i: 7 });
  const zero = new Timestamp({ t: 0, i: 0 });
  for (const [isTakenSame, at] of [
    [true, zero],
    [false, there],
  ] as const) {
    it(`get the time of the source in place of the server's ${isTakenSame ? 'if they are certainly the same' : 'only if they are inserted'}`, async () => {
      const { client, set } = pair.destination;
      await client.db('shop').dropDatabase();
      const items = client.db('shop').collection<{ _id: number; at: Timestamp }>('items');
      await items.insertOne({ _id: 1, at: there });
      await using destination = clientOf(set);
      const documents = [1, 2].map((_id) => ({ _id, at: zero }));
      // An array is a document whose fields are numbers.
      const array = BSON.serialize(Object.fromEntries(documents.entries()));
      const batch = new RawBatch(array, array.length, undefined);
      const writeConcern = { w: 'majority' } as const;
      const settings = { writeConcern, isInOrder: false, isTakenSame };
      const { taken } = await insertBatch(contextOf(destination), namespace, batch, settings);
      assert.deepEqual(
        taken.map((document) => Number(decodeElement(idElement(document)))),
        [1],
      );
      assert.deepEqual(await items.find().sort({ _id: 1 }).toArray(), [
        { _id: 1, at },
        { _id: 2, at: zero },
      ]);
    });
  }
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
