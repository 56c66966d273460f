import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { readTopology, type Topology } from '../../../mongo/topology.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { useShardedCluster } from '../../ground/sharded/use-sharded-cluster.ts';
import { startSyncerProcess, type SyncerProcess } from '../../ground/syncer-process.ts';
import { forward } from './cluster-pair.ts';

const sharding = {
  shardingEntries: [
    { database: 'shop', collection: 'items', shardCollection: { key: [{ k: 1 }] } },
  ],
};

describe('sharded clusters on either side', () => {
  const ground = useShardedCluster({ shards: 2 });
  let set: ReplicaSet;
  before(async () => {
    set = await startReplicaSet({ members: 1, name: 'source' });
    await using client = new MongoClient(set.uri('admin'));
    await client.db('shop').collection('items').insertOne({ k: 1 });
  });
  after(async () => {
    await set.stop();
  });

  /** Start is refused by this name, the process is unharmed, and nothing was written to either side. */
  async function refuses(syncer: SyncerProcess, body: object, error: string): Promise<void> {
    const answer = await syncer.post('start', { ...forward, ...body });
    assert.equal(answer.body['error'], error, JSON.stringify(answer.body));
    assert.equal(answer.status, 400);
    assert.equal(answer.body['success'], false);
    assert.equal((await syncer.progress()).state, 'IDLE');
    const { databases } = await ground.client.db().admin().listDatabases({ nameOnly: true });
    assert.deepEqual(
      databases.map(({ name }) => name),
      ['admin', 'config'],
    );
    await using client = new MongoClient(set.uri('admin'));
    const there = await client.db().admin().listDatabases({ nameOnly: true });
    assert.deepEqual(
      there.databases.map(({ name }) => name),
      ['admin', 'config', 'local', 'shop'],
    );
  }

  it('contract 4.1 rule 2: replica set to sharded cluster without sharding', async () => {
    await using syncer = await startSyncerProcess({
      cluster0: set.uri('syncer'),
      cluster1: ground.cluster.uri('syncer'),
    });
    await refuses(syncer, {}, 'ShardingRequired');
    await refuses(syncer, { includeNamespaces: [{ database: 'shop' }] }, 'ShardingRequired');
    await refuses(syncer, { sharding: {} }, 'InvalidBody');
  });

  it('contract 4.1 rule 3: sharding where the source is a sharded cluster', async () => {
    for (const destination of [ground.cluster.uri('syncer'), set.uri('syncer')]) {
      await using syncer = await startSyncerProcess({
        cluster0: ground.cluster.uri('syncer'),
        cluster1: destination,
      });
      await refuses(syncer, { sharding }, 'ShardingNotAllowed');
      const reversible = { reversible: true, enableUserWriteBlocking: true };
      if (destination === set.uri('syncer'))
        await refuses(syncer, reversible, 'ReversibleNotSupported');
    }
  });

  context('readTopology', () => {
    async function topologyOf(uri: string): Promise<Topology> {
      await using client = createClusterClient({ uri, option: 'cluster0', appName: 'tests' });
      return await readTopology(client, AbortSignal.timeout(60_000));
    }

    it('knows a sharded cluster, its router and its shards', async () => {
      const topology = await topologyOf(ground.cluster.uri('syncer'));
      const version = await ground.client.db('config').collection('version').findOne();
      assert.deepEqual(topology, {
        kind: 'sharded',
        setName: '',
        host: ground.cluster.routers[0],
        shards: ['shard-0', 'shard-1'],
        version: topology.version,
        clusterId: String(version?.['clusterId']),
      });
      assert.match(topology.version, /^\d+\.\d+\.\d+/);
    });

    it('knows a replica set, which is one shard', async () => {
      const topology = await topologyOf(set.uri('syncer'));
      assert.equal(topology.kind, 'replicaSet');
      assert.equal(topology.setName, 'source');
      assert.deepEqual(topology.shards, ['source']);
      assert.equal(topology.host, set.members[0]?.address);
    });
  });
});
