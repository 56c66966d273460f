import assert from 'node:assert/strict';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { readDeploymentId } from '../../../mongo/topology.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import type { TestUser } from '../../ground/mongod/users.ts';
import { useShardedCluster, type ShardedGround } from '../../ground/sharded/use-sharded-cluster.ts';

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

    it('stays the same after an election, also where nobody tells the id of the set', async () => {
      const [set] = sets;
      assert.ok(set);
      for (const user of ['syncer', 'app'] as const) {
        const id = await idAt(set.uri(user));
        const before = await set.primary();
        assert.notEqual(await set.stepDown(), before);
        assert.equal(await idAt(set.uri(user)), id);
      }
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
