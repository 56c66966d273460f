import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { clusterDeadlineMs } from '../ground/default-deadline.ts';
import type { Deployment } from '../ground/deployment.ts';
import { whileAllSlow } from '../ground/mongod/slow-command.ts';
import { assertOnOneShard } from '../ground/sharded/on-one-shard.ts';
import { shopDatabase } from '../ground/shop/shop-collections.ts';
import { startShopWriter } from '../ground/shop/shop-writer.ts';
import { until } from '../ground/until.ts';
import { example, hasCaughtUp, lookInto, syncName, withMigration } from './migration.ts';
import { commit, incarnationOf, killSyncer, loseSyncer, phaseOf } from './syncer-pods.ts';

const ids = ['old-0', 'old-1'];

describe('a sync with a pod for each shard', () => {
  it('ends equal, each document on one shard, when a pod is lost in every phase', async () => {
    const options = { scale: 0.02, shards: [2, 2] } as const;
    await withMigration('shards-killed', options, async (migration) => {
      const { namespace, source, destination } = migration;
      assert.ok('shards' in destination);
      const servers = destination.shards.map((shard) => destination.shardClient(shard));
      const isIn = async (phase: string): Promise<void> => {
        await until(
          `phase ${phase}`,
          async () => (await phaseOf(destination)) === phase,
          clusterDeadlineMs,
        );
      };
      const { signal } = new AbortController();
      const writer = startShopWriter(source.uri('app'), { writesPerSecond: 100, signal });
      try {
        await whileAllSlow(servers, { command: 'create', delayMs: 30_000 }, async () => {
          await namespace.apply(await example('clustersync.yaml'));
          await isIn('catalog');
          await until(
            'there is a coordinator',
            async () => (await coordinator(destination)) >= 0,
            clusterDeadlineMs,
          );
          const lost = await coordinator(destination);
          await until(
            'it works',
            async () => (await incarnationOf(destination, lost)) !== undefined,
            clusterDeadlineMs,
          );
          assert.equal(await killSyncer(migration, 'pod', lost), 'catalog');
        });
        // Of these alone: the cluster itself inserts for each collection that is made before the copy.
        const orders = `${shopDatabase}.orders`;
        const slow = { command: 'insert', namespace: orders, delayMs: 30_000 };
        await whileAllSlow(servers, slow, async () => {
          await isIn('copy');
          assert.equal(await killSyncer(migration, 'pod', 1), 'copy');
        });
        await namespace.untilSync(syncName, 'it has caught up', hasCaughtUp);
        assert.equal(await killSyncer(migration, 'pod', 0), 'changes');
        const { writes } = writer;
        await until('the application has written more', () => writer.writes > writes + 50);
        await namespace.untilSync(syncName, 'it has caught up again', hasCaughtUp);
      } finally {
        await writer.stop();
      }
      // One of the two is away when the commit is asked for.
      await loseSyncer(migration, 1);
      await namespace.setState(syncName, 'Committed');
      await whileAllSlow(servers, { command: '_shardsvrCollMod', delayMs: 30_000 }, async () => {
        await isIn('restoring');
        await loseSyncer(migration, await coordinator(destination));
        assert.equal(await phaseOf(destination), 'restoring');
      });
      await commit(migration);
      await using client = new MongoClient(destination.uri('admin'));
      await assertOnOneShard({ cluster: destination, client });
    });
  });
});

/** The index of the instance that coordinates, -1 for none. */
async function coordinator(destination: Deployment): Promise<number> {
  return await lookInto(destination, 'clustersync_internal', async (db) => {
    const lease = await db.collection('sync').findOne({ holder: { $exists: true } });
    return ids.indexOf(String(lease?.['holder']));
  });
}
