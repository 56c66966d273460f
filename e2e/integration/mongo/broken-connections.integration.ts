import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { MongoClient, type Document } from 'mongodb';
import { connectCluster, createClusterClient } from '../../../mongo/cluster-client.ts';
import { runCommand } from '../../../mongo/run-command.ts';
import { RawCursor } from '../../../mongo/raw-cursor.ts';
import { connectionError, isTransient } from '../../../mongo/server-errors.ts';
import { until } from '../../ground/until.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { slowCommands } from '../syncer/slow-commands.ts';

describe('a connection that breaks is an error that passes', () => {
  let proxied: ProxiedReplicaSet;
  let client: MongoClient;
  let admin: MongoClient;
  before(async () => {
    proxied = await startProxiedReplicaSet({ members: 1, parameters: { enableTestCommands: 1 } });
    admin = new MongoClient(proxied.set.uri('admin'));
  });
  beforeEach(async () => {
    // Without retries, so that the first failure is seen.
    client = new MongoClient(proxied.set.uri('app'), {
      appName: 'clustersync syncer syncer',
      retryWrites: false,
      monitorCommands: true,
    });
    await client.db('shop').collection('items').insertOne({});
  });
  afterEach(async () => {
    await client.close();
  });
  after(async () => {
    await admin.close();
    await proxied[Symbol.asyncDispose]();
  });

  type Insert = (documents: Document[]) => Promise<unknown>;
  const inserts: Readonly<Record<string, Insert>> = {
    'a command': async (documents) =>
      await client.db('shop').command({ insert: 'items', documents }),
    'a bulk write': async (documents) =>
      await client
        .db('shop')
        .collection('items')
        .bulkWrite(documents.map((document) => ({ insertOne: { document } }))),
    'an insert of many': async (documents) =>
      await client.db('shop').collection('items').insertMany(documents),
  };
  for (const [what, insert] of Object.entries(inserts)) {
    it(`while the answer to ${what} is awaited`, async () => {
      const side = { set: proxied.set, client: admin };
      await using slowness = await slowCommands(side, ['insert'], 3_000);
      const begun = async (): Promise<void> => {
        await slowness.reached(1);
      };
      await assertPasses(async () => await insert([{}]), begun);
    });

    it(`while much of ${what} is not sent yet`, async () => {
      for (const proxy of proxied.proxies) proxy.freeze();
      const documents = Array.from({ length: 12 }, () => ({ text: 'x'.repeat(1e6) }));
      // The driver fills what the kernel takes of it in the turn in which it says that it begins.
      const begun = async (): Promise<void> => {
        await once(client, 'commandStarted');
        await setImmediate();
      };
      await assertPasses(async () => await insert(documents), begun);
    });
  }

  it('where several reads of bytes learn at once that a member is no primary any more', async () => {
    await using cluster = createClusterClient({
      uri: proxied.set.uri('app'),
      option: 'cluster0',
      appName: 'clustersync syncer syncer',
    });
    const signal = AbortSignal.timeout(120_000);
    const read = async (): Promise<void> => {
      await using cursor = await RawCursor.open(cluster.raw, 'shop', { find: 'items' }, { signal });
      await cursor.next();
    };
    await read();
    const data = {
      failCommands: ['find'],
      errorCode: 10107,
      blockConnection: true,
      blockTimeMS: 300,
    };
    const failPoint = { configureFailPoint: 'failCommand', mode: { times: 6 }, data };
    await admin.db('admin').command(failPoint);
    const reads = await Promise.allSettled(
      [1, 2, 3, 4, 5, 6].map(async () => {
        await read();
      }),
    );
    for (const { status, reason } of reads as { status: string; reason?: unknown }[]) {
      assert.equal(status, 'rejected');
      assert.equal(isTransient(reason), true, String(reason));
    }
    await read();
  });

  it('where a member steps down right after the client has found it', async () => {
    await using cluster = createClusterClient({
      uri: proxied.set.uri('app'),
      option: 'cluster0',
      appName: 'clustersync syncer syncer',
    });
    const signal = AbortSignal.timeout(120_000);
    const read = async (): Promise<void> => {
      await using cursor = await RawCursor.open(cluster.raw, 'shop', { find: 'items' }, { signal });
      await cursor.next();
    };
    await connectCluster(cluster, signal);
    // Half a second after it has found a member, the driver asks it again, by what it knows of its state: from the error.
    await admin.db('admin').command({ replSetStepDown: 120, force: true });
    await assert.rejects(read(), (error: unknown) => {
      assert.equal(isTransient(error), true, String(error));
      return true;
    });
    await admin.db('admin').command({ replSetFreeze: 0 }, { readPreference: 'nearest' });
    await until('it is primary again', async () => {
      const isRead = read().then(() => true);
      return await isRead.catch(() => false);
    });
  });

  it('while it is silent for good, and nothing else is: a command is given up, the next one goes through', async () => {
    await using cluster = createClusterClient({
      uri: proxied.set.uri('app'),
      option: 'cluster0',
      appName: 'clustersync syncer syncer',
    });
    const signal = AbortSignal.timeout(120_000);
    await runCommand(cluster.admin, { hello: 1 }, { signal });
    for (const proxy of proxied.proxies) proxy.strand();
    const error = await runCommand(cluster.admin, { hello: 1 }, { signal, deadlineMs: 300 }).then(
      () => assert.fail('it went through'),
      (reason: unknown) => reason,
    );
    assert.equal(isTransient(error), true, String(error));
    await runCommand(cluster.admin, { hello: 1 }, { signal, deadlineMs: 60_000 });
  });

  it('while it is being logged in, and is silent for good: others can be opened after a while', async () => {
    await using cluster = createClusterClient({
      uri: proxied.set.uri('app'),
      option: 'cluster0',
      appName: 'clustersync syncer syncer',
    });
    const signal = AbortSignal.timeout(120_000);
    for (const proxy of proxied.proxies) proxy.strandAt((bytes) => bytes.includes('saslContinue'));
    const hello = async (deadlineMs: number): Promise<unknown> =>
      await runCommand(cluster.admin, { hello: 1 }, { signal, deadlineMs });
    // More than the driver opens at a time.
    const attempts = await Promise.allSettled(Array.from({ length: 4 }, () => hello(1_000)));
    for (const attempt of attempts) {
      const reason: unknown = attempt.status === 'rejected' ? attempt.reason : 'it went through';
      assert.equal(isTransient(reason), true, String(reason));
    }
    for (const proxy of proxied.proxies) proxy.heal();
    await until(
      'a connection that can be used',
      async () => {
        const answered = await hello(20_000).catch((error: unknown) => {
          if (!isTransient(error)) throw error;
        });
        return answered !== undefined;
      },
      40_000,
    );
  });

  /** @param begun - is called before, and resolves when the connection is to break. */
  async function assertPasses(
    run: () => Promise<unknown>,
    begun: () => Promise<void>,
  ): Promise<void> {
    const beginning = begun();
    const failed = run().then(
      () => assert.fail('it went through'),
      (error: unknown) => error,
    );
    await beginning;
    for (const proxy of proxied.proxies) {
      proxy.cut();
      proxy.heal();
    }
    const error = await failed;
    assert.equal(isTransient(error), true, String(error));
    assert.equal(connectionError(error)?.name, 'ClusterUnreachable');
  }
});
