import assert from 'node:assert/strict';
import { createClusterClient } from '../../mongo/cluster-client.ts';
import { deploymentOf } from '../../mongo/deployment.ts';
import { destinationKindOf } from './destination-kind.ts';

describe('what differs between destinations', () => {
  const uri = 'mongodb://127.0.0.1:1';
  const cases = [
    { kind: 'replicaSet', isSharded: false },
    { kind: 'sharded', isSharded: true },
  ] as const;
  for (const { kind, isSharded } of cases) {
    it(`of a ${kind}`, async () => {
      // Nothing connects before the first command.
      await using client = createClusterClient({ uri, option: 'cluster1', appName: 'test' });
      const destination = destinationKindOf(deploymentOf(client, { kind, shards: [] }));
      const [from, to] = ['items', 'things'].map((coll) => ({ db: 'shop', coll }));
      assert.ok(from && to);
      assert.equal(destination.buildsOnEachShard, isSharded);
      assert.equal(destination.canRename(from, to), true);
      assert.equal(destination.canRename(from, { ...to, db: 'store' }), !isSharded);
      const shardKey = [{ field: 'k', kind: 1 }] as const;
      assert.equal(destination.shardKeyOf({ shardKey }), isSharded ? shardKey : null);
      assert.equal(destination.mergesShards({ shardKey }), !isSharded);
      assert.equal(destination.mergesShards({ shardKey: null }), false);
    });
  }
});
