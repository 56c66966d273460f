import assert from 'node:assert/strict';
import type { Document } from 'mongodb';
import { startInstances } from './instances.ts';
import { useShardedPair } from './sharded-pair.ts';
import { slowOnShards } from './slow-commands.ts';

interface Row extends Document {
  readonly _id: number;
}

describe('instances of one sync that are killed in the middle of a change of the catalog', () => {
  const pair = useShardedPair(2, 2);
  const shop = () => pair.source.client.db('shop');
  const rows = (from: number, count: number): Row[] =>
    Array.from({ length: count }, (_, index) => ({ _id: from + index, number: index }));

  beforeEach(async () => {
    await pair.reset();
    const admin = pair.source.client.db('admin');
    await admin.command({ enableSharding: 'shop', primaryShard: 'from-0' });
    for (const name of ['items', 'others']) {
      await admin.command({ shardCollection: `shop.${name}`, key: { _id: 'hashed' } });
      await shop().collection<Row>(name).insertMany(rows(0, 500));
    }
  });

  const changes: readonly {
    readonly what: string;
    readonly commands: readonly string[];
    readonly change: () => Promise<unknown>;
  }[] = [
    {
      what: 'an index is built',
      commands: ['createIndexes'],
      change: async () =>
        await shop()
          .collection('items')
          .createIndexes([{ key: { number: 1 } }]),
    },
    {
      what: 'a collection is renamed',
      commands: ['_shardsvrRenameCollection', '_shardsvrRenameCollectionParticipant'],
      change: async () => await shop().collection('items').rename('renamed'),
    },
    {
      what: 'a collection is dropped',
      commands: ['_shardsvrDropCollection', '_shardsvrDropCollectionParticipant'],
      change: async () => await shop().collection('others').drop(),
    },
  ];
  for (const { what, commands, change } of changes) {
    it(`end with equal clusters, while ${what}: the coordinator, then the other one`, async () => {
      await using instances = await startInstances(pair);
      await instances.start();
      await instances.waitFor(
        ({ canCommit, coordinatorID }) => canCommit && coordinatorID !== null,
      );
      const [{ coordinatorID, syncerID } = { coordinatorID: null, syncerID: null }] =
        await Promise.all(instances.all.map(async (one) => await one.progress()));
      const [coordinator, other] =
        coordinatorID === syncerID ? instances.all : instances.all.toReversed();
      assert.ok(coordinator && other);
      {
        await using slow = await slowOnShards(pair.destination, commands, 6_000);
        // On both sides of the change, in the order of the stream.
        await shop()
          .collection<Row>('items')
          .updateMany({ _id: { $lt: 50 } }, { $inc: { number: 1 } });
        await change();
        await shop().collection<Row>('items').insertMany(rows(1_000, 50));
        await slow.reached(1);
        await coordinator.kill();
      }
      // Nobody says any more that the killed one has made the change.
      await other.waitFor(({ warnings }) =>
        (warnings ?? []).some((warning) => warning.includes(String(coordinatorID))),
      );
      await coordinator.restart();
      await other.kill();
      await other.restart();
      await instances.waitFor(({ canCommit }) => canCommit);
      await instances.commit();
      await instances.waitFor(({ state }) => state === 'COMMITTED');
      await pair.assertEqual();
    });
  }
});
