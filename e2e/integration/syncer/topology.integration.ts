import assert from 'node:assert/strict';
import { startSyncerProcess, type SyncerProcess } from '../../ground/syncer-process.ts';
import { testPassword } from '../../ground/mongod/users.ts';
import { useShardedCluster } from '../../ground/sharded/use-sharded-cluster.ts';
import { requireDocumented } from '../../ground/api-document.ts';
import { forward, useClusterPair } from './cluster-pair.ts';

const path = '/api/v1/topology';

async function topologyOf(syncer: SyncerProcess): Promise<unknown> {
  const response = await fetch(`${syncer.url}${path}`);
  const body: unknown = await response.json();
  const { status } = response;
  await requireDocumented('syncer', { method: 'GET', path, status, body });
  return status === 200 ? body : { status, body };
}

describe('GET /api/v1/topology', () => {
  const pair = useClusterPair();
  const sharded = useShardedCluster({ shards: 2, syncerRoles: 'source' });

  it('tells that cluster0 is a replica set, before a sync and during it', async () => {
    const expected = { topology: { kind: 'replicaSet', shards: ['source'] } };
    await using syncer = await pair.syncer();
    assert.deepEqual(await topologyOf(syncer), expected);
    assert.equal((await syncer.post('start', forward)).status, 200);
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual(await topologyOf(syncer), expected);
  });

  it('tells the shards of cluster0 as they are now, also while the stored state cannot be read', async () => {
    const nowhere = 'mongodb://127.0.0.1:1/?replicaSet=rs0';
    const shards = sharded.client
      .db('config')
      .collection<{ _id: string; host: string; state: number }>('shards');
    await using syncer = await startSyncerProcess({
      cluster0: sharded.cluster.uri('syncer'),
      cluster1: nowhere,
      until: 'listening',
    });
    const told = (...ids: string[]) => ({ topology: { kind: 'sharded', shards: ids } });
    assert.deepEqual(await topologyOf(syncer), told('shard-0', 'shard-1'));
    await shards.insertOne({ _id: 'shard-2', host: 'shard-2/127.0.0.1:1', state: 1 });
    try {
      assert.deepEqual(await topologyOf(syncer), told('shard-0', 'shard-1', 'shard-2'));
    } finally {
      await shards.deleteOne({ _id: 'shard-2' });
    }
    assert.equal((await syncer.getProgress()).status === 200, false);
  });

  const wrong = (uri: string): string => uri.replace(encodeURIComponent(testPassword), 'wrong');
  for (const [what, cluster0, expected] of [
    ['a wrong password', () => wrong(sharded.cluster.uri('syncer')), 'AuthenticationFailed'],
    ['a user without the right', () => sharded.cluster.uri('app'), 'MissingPrivileges'],
    ['no server', () => 'mongodb://user:secret@127.0.0.1:1/', 'ClusterUnreachable'],
  ] as const) {
    it(`names ${what}: ${expected}`, async () => {
      await using syncer = await startSyncerProcess({
        cluster0: cluster0(),
        cluster1: pair.destination.set.uri('syncer'),
        until: 'listening',
      });
      const { body } = (await topologyOf(syncer)) as { readonly body: { readonly error: string } };
      assert.equal(body.error, expected);
      assert.doesNotMatch(JSON.stringify(body), /wrong\b.*@|secret/);
    });
  }
});
