import assert from 'node:assert/strict';
import { BSON, type MongoClient } from 'mongodb';
import { databaseNames } from '../mongod/empty-cluster.ts';
import type { ShardedCluster } from './sharded-cluster.ts';

/** Every document of the user databases is on one shard, and no shard has one that the router does not show. */
export async function assertOnOneShard({
  cluster,
  client,
}: {
  readonly cluster: Pick<ShardedCluster, 'shards' | 'shardClient'>;
  readonly client: MongoClient;
}): Promise<void> {
  for (const db of await databaseNames(client)) {
    if (db === 'clustersync_internal') continue;
    for (const { name, type } of await client.db(db).listCollections().toArray()) {
      if (type === 'view' || name === 'system.views') continue;
      const owners = new Map<string, string>();
      for (const shard of cluster.shards) {
        const found = cluster.shardClient(shard).db(db).collection(name);
        for await (const { _id } of found.find(
          {},
          { projection: { _id: 1 }, promoteValues: false },
        )) {
          const id = BSON.EJSON.stringify(_id, { relaxed: false });
          assert.equal(owners.get(id), undefined, `${db}.${name} _id ${id} is on two shards`);
          owners.set(id, shard);
        }
      }
      assert.equal(owners.size, await client.db(db).collection(name).countDocuments(), name);
    }
  }
}
