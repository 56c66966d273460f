import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { runCommand } from '../../../mongo/run-command.ts';
import { checkedWhenSent } from '../../../mongo/write-guard.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { until } from '../../ground/until.ts';

const lost = new Error('the right is lost');

describe('a write that has waited for a server and a connection', () => {
  let proxied: ProxiedReplicaSet;
  before(async () => {
    proxied = await startProxiedReplicaSet({ members: 1 });
  });
  after(async () => {
    await proxied[Symbol.asyncDispose]();
  });

  for (const [what, isOwnCheck] of [
    ['who may write', false],
    ['its own check', true],
  ] as const) {
    it(`is not sent where ${what} has changed in the meantime`, async () => {
      const signal = AbortSignal.timeout(120_000);
      await using admin = new MongoClient(proxied.set.uri('admin'));
      await using cluster = createClusterClient({
        uri: proxied.set.uri('syncer'),
        option: 'cluster1',
        appName: 'clustersync syncer guarded',
      });
      let isMine = true;
      const require = (): void => {
        if (!isMine) throw lost;
      };
      const confirm = async (): Promise<void> => {
        await Promise.resolve();
        require();
      };
      if (!isOwnCheck) cluster.writeGuard.right = { isNeededFor: () => true, confirm, require };
      const shop = cluster.decoded.db('shop');
      for (const proxy of proxied.proxies) proxy.freeze();
      const command = { insert: 'items', documents: [{ text: 'late' }] };
      const sent = runCommand(shop, isOwnCheck ? checkedWhenSent(command, require) : command, {
        signal,
      });
      const isRefused = assert.rejects(sent, lost);
      await until('it waits', () => proxied.proxies.some(({ connections }) => connections > 0));
      isMine = false;
      for (const proxy of proxied.proxies) proxy.heal();
      await isRefused;
      assert.equal(await admin.db('shop').collection('items').countDocuments(), 0);
      isMine = true;
      await runCommand(shop, command, { signal });
      assert.equal(await admin.db('shop').collection('items').countDocuments(), 1);
      await admin.db('shop').dropDatabase();
    });
  }
});
