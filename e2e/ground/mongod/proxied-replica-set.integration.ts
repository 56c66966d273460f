import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { defaultDeadlineMs } from '../default-deadline.ts';
import { until } from '../until.ts';
import { startProxiedReplicaSet, type ProxiedReplicaSet } from './proxied-replica-set.ts';

describe('startProxiedReplicaSet', () => {
  let proxied: ProxiedReplicaSet;
  before(async () => {
    proxied = await startProxiedReplicaSet({ members: 3, electionTimeoutMs: 2000 });
  });
  after(async () => {
    await proxied[Symbol.asyncDispose]();
  });

  it('lets syncers feel a failure of the network, and nobody else', async () => {
    const { set } = proxied;
    await using syncer = new MongoClient(set.uri('admin'), { appName: 'clustersync syncer one' });
    await using other = new MongoClient(set.uri('admin'));
    const isReached = async (client: MongoClient, withinMs: number): Promise<boolean> =>
      await client
        .db('admin')
        .command({ ping: 1 }, { signal: AbortSignal.timeout(withinMs) })
        .then(
          () => true,
          () => false,
        );
    const reach = async (client: MongoClient): Promise<void> => {
      await until('it is reached', async () => await isReached(client, 10_000));
    };
    const assertFelt = async (failure: string): Promise<void> => {
      assert.equal(await isReached(syncer, 1000), false, failure);
      assert.equal(await isReached(other, defaultDeadlineMs), true, failure);
    };
    await reach(other);
    for (const fail of ['refuse', 'freeze'] as const) {
      await reach(syncer);
      for (const proxy of proxied.proxies) proxy[fail]();
      await assertFelt(fail);
      for (const proxy of proxied.proxies) proxy.heal();
    }
    await reach(syncer);
    for (const proxy of proxied.proxies) proxy.strand();
    await assertFelt('strand');
    await reach(syncer);
  });

  it('takes back members that were killed, by their own address', async () => {
    const { set } = proxied;
    const killed = await set.primary();
    await set.kill(killed);
    await set.primary();
    await set.restart(killed);
    await using client = new MongoClient(set.uri('app'));
    await client
      .db('shop')
      .collection('items')
      .insertOne({}, { writeConcern: { w: 3 } });
  });
});
