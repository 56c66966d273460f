import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import { runCommand } from '../../../mongo/run-command.ts';
import { createLogger } from '../../../service/logger.ts';
import { awaitEarlierWrites } from '../../../syncer/earlier-writes.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { until } from '../../ground/until.ts';

describe('writes whose connections were given up', () => {
  let proxied: ProxiedReplicaSet;
  before(async () => {
    proxied = await startProxiedReplicaSet({ members: 1 });
  });
  after(async () => {
    await proxied[Symbol.asyncDispose]();
  });

  it('are waited for while the network may deliver them', async () => {
    await using admin = new MongoClient(proxied.set.uri('admin'));
    await using destination = createClusterClient({
      uri: proxied.set.uri('syncer'),
      option: 'cluster1',
      appName: 'clustersync syncer syncer',
    });
    const logged: string[] = [];
    const logger = createLogger('syncer', 'info', (line) => logged.push(line));
    const signal = AbortSignal.timeout(50_000);
    const shop = destination.decoded.db('shop');
    const insert = { insert: 'items', documents: [{ text: 'late' }] };
    for (const proxy of proxied.proxies) proxy.strandAt((bytes) => bytes.includes('late'));
    await runCommand(shop, { create: 'items' }, { signal });
    await assert.rejects(runCommand(shop, insert, { signal, deadlineMs: 300 }));

    let isOver = false;
    const waiting = awaitEarlierWrites({ destination, destinationShards: [], signal, logger }).then(
      () => {
        isOver = true;
      },
    );
    await until('it says that it waits', () => logged.length > 0);
    assert.match(logged.join(), /"connections":1.*waiting for earlier writes/);
    assert.equal(isOver, false);
    const items = admin.db('shop').collection('items');
    assert.equal(await items.countDocuments(), 0);
    for (const proxy of proxied.proxies) proxy.release();
    await waiting;
    assert.equal(await items.countDocuments(), 1);
  });

  it('are waited for where another process has made them', async () => {
    const appName = 'clustersync syncer killed';
    const connect = (): ClusterClient =>
      createClusterClient({ uri: proxied.set.uri('syncer'), option: 'cluster1', appName });
    const signal = AbortSignal.timeout(50_000);
    const former = connect();
    await using destination = connect();
    const insert = { insert: 'items', documents: [{ text: 'late' }] };
    for (const proxy of proxied.proxies) proxy.strandAt((bytes) => bytes.includes('late'));
    const inserting = runCommand(former.decoded.db('shop'), insert, { signal });
    const failed = assert.rejects(inserting);
    await until('it is held', () => proxied.proxies.some(({ stranded }) => stranded > 0));
    await former[Symbol.asyncDispose]();
    await failed;

    const logged: string[] = [];
    const logger = createLogger('syncer', 'info', (line) => logged.push(line));
    const waiting = awaitEarlierWrites({ destination, destinationShards: [], signal, logger });
    await until('it says that it waits', () => logged.length > 0);
    assert.match(logged.join(), /"connections":1.*waiting for earlier writes/);
    for (const proxy of proxied.proxies) proxy.release();
    await waiting;
    const count = await runCommand(destination.decoded.db('shop'), { count: 'items' }, { signal });
    assert.equal(count['n'], 2);
  });

  it('are not waited for where the server knows that their connections are gone', async () => {
    await using destination = createClusterClient({
      uri: proxied.set.uri('syncer'),
      option: 'cluster1',
      appName: 'clustersync syncer cut',
    });
    const signal = AbortSignal.timeout(50_000);
    const shop = destination.decoded.db('shop');
    const insert = { insert: 'items', documents: [{ text: 'late' }] };
    await runCommand(shop, { hello: 1 }, { signal });
    for (const proxy of proxied.proxies) proxy.strandAt((bytes) => bytes.includes('late'));
    const inserting = runCommand(shop, insert, { signal });
    await until('it is held', () => proxied.proxies.some(({ stranded }) => stranded > 0));
    for (const proxy of proxied.proxies) proxy.cut();
    await assert.rejects(inserting);
    const logger = createLogger('syncer', 'info', (line) => assert.fail(line));
    await awaitEarlierWrites({ destination, destinationShards: [], signal, logger });
  });
});
