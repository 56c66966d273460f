import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { readDeploymentId } from '../../../mongo/topology.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import type { TestUser } from '../../ground/mongod/users.ts';
import { useShardedCluster, type ShardedGround } from '../../ground/sharded/use-sharded-cluster.ts';
import { until } from '../../ground/until.ts';

const appName = 'deployment id';

async function idAt(uri: string): Promise<string> {
  await using cluster = createClusterClient({ uri, option: 'cluster0', appName });
  return await readDeploymentId(cluster, AbortSignal.timeout(30_000));
}

describe('what a deployment is known by', () => {
  context('of replica sets of one name', () => {
    let sets: readonly ReplicaSet[];
    before(async () => {
      sets = await Promise.all(
        ([3, 1] as const).map(async (members) => await startReplicaSet({ name: 'same', members })),
      );
    });
    after(async () => {
      await Promise.all(
        sets.map(async (set) => {
          await set.stop();
        }),
      );
    });

    for (const user of ['syncer', 'app'] as const satisfies readonly TestUser[]) {
      const what = user === 'app' ? 'who may not ask for its configuration' : 'of the syncer';
      it(`is another one for each, by the word of a user ${what}`, async () => {
        const ids = await Promise.all(sets.map(async (set) => await idAt(set.uri(user))));
        assert.equal(new Set(ids).size, 2, ids.join());
      });
    }

    it('stays the same after an election, in a set that was initiated without an id', async () => {
      const [set] = sets;
      assert.ok(set);
      await using admin = new MongoClient(set.uri('admin'));
      const privileges = [{ resource: { anyResource: true }, actions: ['anyAction'] }];
      const role = { createRole: 'everything', privileges, roles: [], writeConcern: { w: 3 } };
      await admin.db('admin').command(role);
      const grant = { grantRolesToUser: 'admin', roles: ['everything'], writeConcern: { w: 3 } };
      await admin.db('admin').command(grant);
      for (const member of set.members) {
        const uri = set.directUri('admin', member);
        await using client = new MongoClient(uri, { retryWrites: false });
        const local = client.db('local').collection('system.replset');
        await local.updateOne(
          {},
          { $unset: { 'settings.replicaSetId': 1 } },
          { writeConcern: { w: 1 } },
        );
      }
      for (const member of set.members) await set.kill(member);
      await Promise.all(
        set.members.map(async (member) => {
          await set.restart(member);
        }),
      );
      const before = await set.primary();
      const id = await idAt(set.uri('syncer'));
      await using client = new MongoClient(set.uri('admin'));
      const { config } = (await client.db('admin').command({ replSetGetConfig: 1 })) as {
        config: { settings: object };
      };
      assert.equal(Object.hasOwn(config.settings, 'replicaSetId'), false);
      await client
        .db('admin')
        .command({ replSetStepDown: 60, force: true })
        .catch(() => undefined);
      await until('another primary', async () => (await set.primary()) !== before);
      assert.equal(await idAt(set.uri('syncer')), id);
    });
  });

  context('of sharded clusters', () => {
    const grounds: readonly ShardedGround[] = ['one', 'other'].map((name) =>
      useShardedCluster({ shards: 1, name }),
    );

    for (const user of ['syncer', 'app'] as const) {
      it(`is another one for each, by the word of the user ${user}`, async () => {
        const ids = await Promise.all(
          grounds.map(async ({ cluster }) => await idAt(cluster.uri(user))),
        );
        assert.equal(new Set(ids).size, 2, ids.join());
      });
    }
  });
});
