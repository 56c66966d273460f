import assert from 'node:assert/strict';
import { MongoClient, type Document } from 'mongodb';
import { deploymentOf, type Deployment } from '../../../mongo/deployment.ts';
import {
  connectCluster,
  createClusterClient,
  type ClusterClient,
} from '../../../mongo/cluster-client.ts';
import { runCommand } from '../../../mongo/run-command.ts';
import { createLogger } from '../../../service/logger.ts';
import { SyncMonitor } from '../../../syncer/monitor/monitor.ts';
import { awaitEarlierWrites } from '../../../syncer/destination/earlier-writes.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { useShardedCluster } from '../../ground/sharded/use-sharded-cluster.ts';
import { until } from '../../ground/until.ts';
import { useClusterPair } from './cluster-pair.ts';
import { canBeSlow, delayNext, holdCommands, slowCommands } from './slow-commands.ts';

const monitor = new SyncMonitor();

function ofReplicaSet(client: ClusterClient): Deployment {
  return deploymentOf(client, { kind: 'replicaSet', shards: [] });
}

describe('writes whose connections were given up', () => {
  let proxied: ProxiedReplicaSet;
  before(async () => {
    proxied = await startProxiedReplicaSet({ members: 1 });
  });
  after(async () => {
    await proxied[Symbol.asyncDispose]();
  });

  const late = [
    { insert: 'items', documents: [{ text: 'late' }] },
    {
      ...{ findAndModify: 'items', query: { _id: 1 }, upsert: true },
      update: { $set: { text: 'late' } },
    },
  ];
  for (const write of late) {
    const [name] = Object.keys(write);
    it(`are waited for while the network may deliver them: ${name}`, async () => {
      await using admin = new MongoClient(proxied.set.uri('admin'));
      await using destination = createClusterClient({
        uri: proxied.set.uri('syncer'),
        option: 'cluster1',
        appName: 'clustersync syncer syncer',
      });
      const logged: string[] = [];
      const logger = createLogger('syncer', 'info', (line) => logged.push(line));
      const signal = AbortSignal.timeout(120_000);
      const shop = destination.decoded.db('shop');
      for (const proxy of proxied.proxies) proxy.strandAt((bytes) => bytes.includes('late'));
      await admin.db('shop').dropDatabase();
      await runCommand(shop, { create: 'items' }, { signal });
      // Not by a deadline: the server would be told of it, and give the insert up by itself on a busy machine.
      const givenUp = new AbortController();
      const failed = assert.rejects(runCommand(shop, write, { signal: givenUp.signal }));
      await until('it is held', () => proxied.proxies.some(({ stranded }) => stranded > 0));
      givenUp.abort();
      await failed;

      let isOver = false;
      const waiting = awaitEarlierWrites({
        destination: ofReplicaSet(destination),
        signal,
        logger,
        monitor,
      }).then(() => {
        isOver = true;
      });
      await until('it says that it waits', () => logged.length > 0);
      assert.match(logged.join(), /"connections":1.*waiting for earlier writes/);
      assert.equal(isOver, false);
      const items = admin.db('shop').collection('items');
      assert.equal(await items.countDocuments(), 0);
      for (const proxy of proxied.proxies) proxy.release();
      await waiting;
      assert.equal(await items.countDocuments(), 1);
    });
  }

  it('are waited for where another process has made them', async () => {
    const appName = 'clustersync syncer killed';
    const connect = (): ClusterClient =>
      createClusterClient({ uri: proxied.set.uri('syncer'), option: 'cluster1', appName });
    const signal = AbortSignal.timeout(120_000);
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
    const waiting = awaitEarlierWrites({
      destination: ofReplicaSet(destination),
      signal,
      logger,
      monitor,
    });
    await until('it says that it waits', () => logged.length > 0);
    assert.match(logged.join(), /"connections":1.*waiting for earlier writes/);
    for (const proxy of proxied.proxies) proxy.release();
    await waiting;
    const count = await runCommand(destination.decoded.db('shop'), { count: 'items' }, { signal });
    assert.equal(count.field('n').count(), 2);
  });

  it('are not waited for where the server knows that their connections are gone', async () => {
    const appName = 'clustersync syncer cut';
    await using destination = createClusterClient({
      uri: proxied.set.uri('syncer'),
      option: 'cluster1',
      appName,
    });
    await using admin = new MongoClient(proxied.set.uri('admin'));
    const connections = async (): Promise<unknown[]> => {
      const open = admin
        .db('admin')
        .aggregate([
          { $currentOp: { allUsers: true, idleConnections: true } },
          { $match: { appName } },
        ]);
      return (await open.toArray()).map(({ connectionId }) => connectionId as unknown);
    };
    const signal = AbortSignal.timeout(120_000);
    const shop = destination.decoded.db('shop');
    const insert = { insert: 'items', documents: [{ text: 'late' }] };
    await runCommand(shop, { hello: 1 }, { signal });
    for (const proxy of proxied.proxies) proxy.strandAt((bytes) => bytes.includes('late'));
    const inserting = runCommand(shop, insert, { signal });
    await until('it is held', () => proxied.proxies.some(({ stranded }) => stranded > 0));
    const before = await connections();
    assert.ok(before.length > 0);
    for (const proxy of proxied.proxies) proxy.cut();
    await assert.rejects(inserting);
    await until('the server knows', async () => {
      const now = new Set(await connections());
      return !before.some((connection) => now.has(connection));
    });
    const logger = createLogger('syncer', 'info', (line) => assert.fail(line));
    await awaitEarlierWrites({
      destination: ofReplicaSet(destination),
      signal,
      logger,
      monitor,
    });
  });
});

describe('operations that the destination still works on', () => {
  const pair = useClusterPair({
    parameters: canBeSlow,
    roles: { source: 'sourceWithWriteBlocking', destination: 'sourceWithWriteBlocking' },
  });

  /** A client of the destination as an instance has it. */
  function connect(id = 'syncer'): ClusterClient {
    const uri = pair.destination.set.uri('syncer');
    return createClusterClient({ uri, option: 'cluster1', appName: `clustersync syncer ${id}` });
  }

  const commands: Readonly<Record<string, object>> = {
    renameCollection: { renameCollection: 'shop.items', to: 'shop.renamed' },
    setUserWriteBlockMode: { setUserWriteBlockMode: 1, global: true },
  };
  for (const [name, command] of Object.entries(commands)) {
    it(`are waited for where they change what is copied, or who may write: ${name}`, async () => {
      await pair.reset();
      const signal = AbortSignal.timeout(120_000);
      await using destination = connect();
      await runCommand(destination.decoded.db('shop'), { create: 'items' }, { signal });
      const logged: string[] = [];
      const logger = createLogger('syncer', 'info', (line) => logged.push(line));
      await using slow = await slowCommands(pair.destination, [name], 3_000);
      const running = runCommand(destination.admin, command, { signal });
      await slow.reached(1);
      await awaitEarlierWrites({
        destination: ofReplicaSet(destination),
        signal,
        logger,
        monitor,
      });
      assert.match(logged.join(), /"operations":1,.*waiting for earlier writes/);
      await running;
      await pair.reset();
    });
  }

  it('are waited for where an instance of another name has sent them', async () => {
    await pair.reset();
    const signal = AbortSignal.timeout(120_000);
    await using other = connect('other');
    await using destination = connect();
    await runCommand(other.decoded.db('shop'), { create: 'items' }, { signal });
    // It is connected before the command becomes slow.
    await runCommand(destination.admin, { ping: 1 }, { signal });
    const logged: string[] = [];
    const logger = createLogger('syncer', 'info', (line) => logged.push(line));
    const isSlow = await delayNext(pair.destination, 'renameCollection', 3_000, { id: 'other' });
    const rename = { renameCollection: 'shop.items', to: 'shop.renamed' };
    const running = runCommand(other.admin, rename, { signal });
    await isSlow();
    await awaitEarlierWrites({
      destination: ofReplicaSet(destination),
      signal,
      logger,
      monitor,
    });
    assert.match(logged.join(), /"operations":1,.*waiting for earlier writes/);
    await running;
  });

  it('are not waited for where they have begun later', async () => {
    await pair.reset();
    const signal = AbortSignal.timeout(120_000);
    await using destination = connect();
    const shop = destination.decoded.db('shop');
    await runCommand(shop, { insert: 'items', documents: [{ _id: 1 }] }, { signal });
    const logged: string[] = [];
    const logger = createLogger('syncer', 'info', (line) => logged.push(line));
    const remove = { delete: 'items', deletes: [{ q: { _id: 1 }, limit: 1 }] };
    const insert = { insert: 'items', documents: [{ _id: 2 }] };
    const unlimited = { signal, deadlineMs: 'none' } as const;
    let [inserting, removing, waiting]: Promise<void>[] = [];
    let isRemoved = false;
    {
      await using heldDelete = await holdCommands(pair.destination, 'delete', 'shop.items');
      {
        await using heldInsert = await holdCommands(pair.destination, 'insert', 'shop.items');
        inserting = runCommand(shop, insert, unlimited).then(() => undefined);
        await heldInsert.reached(1);
        waiting = awaitEarlierWrites({
          destination: ofReplicaSet(destination),
          signal,
          logger,
          monitor,
        });
        await until('it says that it waits', () => logged.length > 0);
        removing = runCommand(shop, remove, unlimited).then(() => {
          isRemoved = true;
        });
        await heldDelete.reached(1);
      }
      await Promise.all([inserting, waiting]);
      assert.equal(isRemoved, false);
    }
    await removing;
    assert.equal(isRemoved, true);
  });
});

describe('writes that routers still have', () => {
  const ground = useShardedCluster({ shards: 1, routers: 2, parameters: canBeSlow });
  let signal: AbortSignal;
  beforeEach(() => {
    signal = AbortSignal.timeout(120_000);
  });

  /** Connects to all routers, or to one. */
  function connect(name: string, router?: string): ClusterClient {
    const uri = ground.cluster.uri('syncer', {}, router);
    return createClusterClient({ uri, option: 'cluster1', appName: `clustersync syncer ${name}` });
  }

  /** Holds inserts while some are begun and their connections are lost, and asserts that all are waited for. */
  async function assertAwaited(
    destination: ClusterClient,
    count: number,
    lose: (inserts: readonly Document[], areHeld: Promise<void>) => Promise<void>,
  ): Promise<void> {
    const shop = ground.client.db('shop');
    await shop.dropDatabase();
    await shop.createCollection('items');
    await connectCluster(destination, signal);
    const [shard = ''] = ground.cluster.shards;
    const logged: string[] = [];
    const logger = createLogger('syncer', 'info', (line) => logged.push(line));
    const client = ground.cluster.shardClient(shard);
    let waiting = Promise.resolve();
    const hold = await holdCommands({ client }, 'insert', 'shop.items');
    try {
      const inserts = Array.from({ length: count }, (_, _id) => ({
        insert: 'items',
        documents: [{ _id }],
      }));
      const match = { op: 'insert', ns: 'shop.items' };
      const areHeld = until('they have come to the shard', async () => {
        const held = client.db('admin').aggregate([{ $currentOp: {} }, { $match: match }]);
        return (await held.toArray()).length === count;
      });
      await lose(inserts, areHeld);
      waiting = awaitEarlierWrites({
        destination: deploymentOf(destination, { kind: 'sharded', shards: ground.cluster.shards }),
        signal,
        logger,
        monitor,
      });
      await until('it says that it waits', () => logged.length > 0);
      assert.match(
        logged.join(),
        new RegExp(`"connections":${count},.*waiting for earlier writes`),
      );
    } finally {
      await hold[Symbol.asyncDispose]();
      await Promise.allSettled([waiting]);
    }
    await waiting;
    assert.equal(await shop.collection('items').countDocuments(), count);
  }

  for (const index of [0, 1]) {
    it(`are waited for where a process that was killed has sent them to router ${index}`, async () => {
      const former = connect(`killed ${index}`, ground.cluster.routers[index]);
      await using destination = connect(`killed ${index}`);
      await assertAwaited(destination, 1, async ([insert = {}], isHeld) => {
        const inserting = runCommand(former.decoded.db('shop'), insert, { signal });
        const failed = assert.rejects(inserting);
        await isHeld;
        await former[Symbol.asyncDispose]();
        await failed;
        await until('the router knows of the end of its other connections', async () => {
          return (await destination.formerConnections.count(destination, signal)) === 1;
        });
      });
    });
  }

  it('are waited for where they were given up, whichever router has them', async () => {
    await using destination = connect('lost');
    // The driver shares them out between the routers.
    await assertAwaited(destination, 8, async (inserts, areHeld) => {
      const giveUp = new AbortController();
      const inserting = inserts.map(async (insert) => {
        await runCommand(destination.decoded.db('shop'), insert, { signal: giveUp.signal });
      });
      await areHeld;
      giveUp.abort(new Error('given up'));
      const ends = await Promise.allSettled(inserting);
      assert.deepEqual(new Set(ends.map(({ status }) => status)), new Set(['rejected']));
    });
  });
});
