import assert from 'node:assert/strict';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import type { LeaseStore } from '../../../syncer/store/lease-store.ts';
import { SyncStore } from '../../../syncer/store/store.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';

describe('former coordinators', () => {
  const { signal } = new AbortController();
  let set: ReplicaSet;
  let cluster: ClusterClient;

  before(async () => {
    set = await startReplicaSet({ members: 1 });
    cluster = connect('coordinator');
  });
  after(async () => {
    await cluster[Symbol.asyncDispose]();
    await set.stop();
  });

  function connect(appName: string): ClusterClient {
    return createClusterClient({ uri: set.uri('syncer'), option: 'cluster1', appName });
  }

  it('stay known until each of them was waited for, however the lease has passed meanwhile', async () => {
    const lease = (id: string): LeaseStore => new SyncStore(cluster, id, signal).lease;
    const [one, other, third] = [lease('one'), lease('other'), lease('third')];
    const over = -1;
    assert.ok(await third.take(over, true));
    assert.deepEqual(await third.readFormer(), []);
    assert.ok(await one.take(over, true));
    const waitedFor = await one.readFormer();
    assert.deepEqual(waitedFor, ['third']);
    // While it waits, another one coordinates for a while.
    assert.ok(await other.take(over, true));
    assert.deepEqual((await other.readFormer()).toSorted(), ['one', 'third']);
    await one.forgetFormer(waitedFor);
    assert.deepEqual((await other.readFormer()).toSorted(), ['one', 'third']);
    assert.ok(await one.take(over, true));
    await one.forgetFormer(waitedFor);
    assert.deepEqual(await one.readFormer(), ['other']);
    await one.forgetFormer(['other']);
    assert.deepEqual(await one.readFormer(), []);
  });

  it('are waited for until 30 s after they were that, or until their connections have ended', async () => {
    const { formerConnections } = cluster;
    const former = connect('former');
    try {
      await former.admin.command({ ping: 1 });
      const count = async (agoMs: number): Promise<number> =>
        await formerConnections.of('former', performance.now() - agoMs).count(cluster, signal);
      assert.ok((await count(0)) > 0);
      assert.ok((await count(25_000)) > 0);
      assert.equal(await count(31_000), 0);
      await former[Symbol.asyncDispose]();
      await until('its connections have ended', async () => (await count(0)) === 0);
    } finally {
      await former[Symbol.asyncDispose]();
    }
  });
});
