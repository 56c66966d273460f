import assert from 'node:assert/strict';
import { MongoClient, type Collection, type Document, type ObjectId } from 'mongodb';
import { until } from '../until.ts';
import { collectionOf, useShardedCluster, type Item } from './use-sharded-cluster.ts';

const hundred: readonly Item[] = Array.from({ length: 100 }, (_, k) => ({ _id: k, k }));

/** What a server stores of the placement of a collection, and the config server has of it. */
interface PlacementRow {
  readonly _id: string;
  readonly epoch?: ObjectId;
  readonly lastmodEpoch?: ObjectId;
  readonly refreshing?: boolean;
}

const isStored = ({ refreshing }: PlacementRow): boolean => refreshing === false;

describe('the placement of a collection that routers know', () => {
  const ground = useShardedCluster({
    shards: 2,
    routers: 2,
    parameters: { enableTestCommands: 1 },
  });

  /** What the inner routers have stored of it; empty with a mongos. */
  async function stored(ns: string): Promise<(PlacementRow | null)[]> {
    return await Promise.all(
      ground.cluster.innerRouterClients().map(async (client) => {
        const rows = client.db('config').collection<PlacementRow>('cache.collections');
        return await rows.findOne({ _id: ns });
      }),
    );
  }

  /** The epoch of the placement that the config server has. */
  async function known(ns: string): Promise<ObjectId | undefined> {
    const rows = ground.client.db('config').collection<PlacementRow>('collections');
    return (await rows.findOne({ _id: ns }))?.lastmodEpoch;
  }

  async function halves(ns: string): Promise<void> {
    await ground.admin({ enableSharding: ns.slice(0, ns.indexOf('.')), primaryShard: 'shard-0' });
    await ground.admin({ shardCollection: ns, key: { k: 1 } });
    await ground.admin({ split: ns, middle: { k: 50 } });
    await ground.admin({ moveChunk: ns, find: { k: 50 }, to: 'shard-1' });
  }

  async function throughEach(
    ns: string,
    run: (items: Collection<Item>, router: string) => Promise<unknown>,
  ): Promise<void> {
    for (const router of ground.cluster.routers) {
      await using client = new MongoClient(ground.cluster.uri('admin', {}, router));
      await run(collectionOf(client, ns), router);
    }
  }

  /** Reads through each router, and waits until the inner ones are at storing by what placement, or have done it. */
  async function readEverywhere(ns: string, isDone: (row: PlacementRow) => boolean): Promise<void> {
    await throughEach(ns, async (items) => await items.findOne({ k: 50 }));
    await until('the placement is stored', async () => {
      return (await stored(ns)).every((row) => row !== null && isDone(row));
    });
  }

  const changes: readonly (readonly [what: string, change: () => Promise<unknown>])[] = [
    ['drop', async () => await ground.collection('a.items').drop()],
    ['dropDatabase', async () => await ground.client.db('a').dropDatabase()],
    ['renameCollection to another name', async () => await rename('a.items', 'a.other')],
    ['renameCollection of another one to its name', async () => await rename('a.more', 'a.items')],
    [
      'refineCollectionShardKey',
      async () =>
        await ground.admin({ refineCollectionShardKey: 'a.items', key: { k: 1, _id: 1 } }),
    ],
    [
      'reshardCollection',
      async () =>
        await ground.admin({
          reshardCollection: 'a.items',
          key: { _id: 'hashed' },
          numInitialChunks: 2,
        }),
    ],
  ];

  async function rename(ns: string, to: string): Promise<Document> {
    return await ground.admin({ renameCollection: ns, to, dropTarget: true });
  }

  for (const [what, change] of changes) {
    it(`is the new one for all of them when ${what} is answered`, async () => {
      await ground.client.db('a').dropDatabase();
      for (const ns of ['a.items', 'a.more']) {
        await halves(ns);
        await ground.collection(ns).insertMany([...hundred]);
        await ground.collection(ns).createIndexes([{ key: { k: 1, _id: 1 } }]);
        await readEverywhere(ns, isStored);
      }
      await change();
      const now = await known('a.items');
      for (const row of await stored('a.items')) assert.deepEqual(row?.epoch, now);
    });
  }

  it('has no chunks of a dropped collection of the same name', async () => {
    const ns = 'shop.items';
    await ground.admin({ enableSharding: 'shop', primaryShard: 'shard-0' });
    await ground.admin({ shardCollection: ns, key: { _id: 'hashed' } });
    await readEverywhere(ns, isStored);
    await ground.client.db('shop').dropDatabase();
    await using stack = new AsyncDisposableStack();
    for (const client of ground.cluster.innerRouterClients()) {
      const hang = {
        configureFailPoint: 'hangDropCollectionBeforeLockAcquisition',
        data: { nss: `config.cache.chunks.${ns}` },
      };
      await client.db('admin').command({ ...hang, mode: 'alwaysOn' });
      stack.defer(async () => {
        await client.db('admin').command({ ...hang, mode: 'off' });
      });
    }
    await ground.admin({ enableSharding: 'shop', primaryShard: 'shard-0' });
    await ground.admin({ shardCollection: ns, key: { k: 1 } });
    for (const k of [25, 50, 75]) await ground.admin({ split: ns, middle: { k } });
    for (const k of [50, 75]) {
      await ground.admin({ moveChunk: ns, find: { k }, to: 'shard-1', _waitForDelete: true });
    }
    const now = await known(ns);
    await readEverywhere(ns, ({ epoch }) => now !== undefined && epoch?.equals(now) === true);
    await throughEach(ns, async (items, router) => {
      // The placement is read again, while it is being stored where the fail point holds that up.
      await items.db.admin().command({ flushRouterConfig: 1 });
      await items.insertMany(hundred.map((item) => ({ ...item, _id: `${router} ${item._id}` })));
    });
    const onShards = Object.values(await ground.onShards(ns));
    assert.deepEqual(
      onShards.map(({ length }) => length),
      [100, 100],
    );
  });
});
