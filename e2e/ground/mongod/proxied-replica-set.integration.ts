import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
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
    const options = {
      serverSelectionTimeoutMS: 500,
      connectTimeoutMS: 500,
      heartbeatFrequencyMS: 500,
    };
    await using syncer = new MongoClient(set.uri('admin'), {
      ...options,
      appName: 'clustersync syncer one',
    });
    await using other = new MongoClient(set.uri('admin'), options);
    const isReached = async (client: MongoClient): Promise<boolean> =>
      await client
        .db('admin')
        .command({ ping: 1 }, { signal: AbortSignal.timeout(1000) })
        .then(
          () => true,
          () => false,
        );
    assert.deepEqual([await isReached(syncer), await isReached(other)], [true, true]);
    for (const fail of ['refuse', 'freeze'] as const) {
      for (const proxy of proxied.proxies) proxy[fail]();
      assert.deepEqual([await isReached(syncer), await isReached(other)], [false, true], fail);
      for (const proxy of proxied.proxies) proxy.heal();
      while (!(await isReached(syncer)));
    }
    for (const proxy of proxied.proxies) proxy.strand();
    assert.deepEqual([await isReached(syncer), await isReached(other)], [false, true]);
    while (!(await isReached(syncer)));
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
