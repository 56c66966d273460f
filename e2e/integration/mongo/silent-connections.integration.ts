import assert from 'node:assert/strict';
import { MongoClient, type Document } from 'mongodb';
import type { CheckedValue } from '../../../mongo/checked-value.ts';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import { RawCursor } from '../../../mongo/raw-cursor.ts';
import { runCommand } from '../../../mongo/run-command.ts';
import { isTransient } from '../../../mongo/server-errors.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { until } from '../../ground/until.ts';

describe('a command on a connection that falls silent', () => {
  const createIndexes = { createIndexes: 'items', indexes: [{ key: { a: 1 }, name: 'a' }] };
  let proxied: ProxiedReplicaSet;
  let admin: MongoClient;
  let cluster: ClusterClient;
  let signal: AbortSignal;
  before(async () => {
    proxied = await startProxiedReplicaSet({ members: 1, parameters: { enableTestCommands: 1 } });
    admin = new MongoClient(proxied.set.uri('admin'));
    cluster = createClusterClient({
      uri: proxied.set.uri('syncer'),
      option: 'cluster1',
      appName: 'clustersync syncer syncer',
      // Longer than a server that is busy takes to let a connection log in.
      silenceMs: 1_000,
    });
  });
  beforeEach(async () => {
    signal = AbortSignal.timeout(120_000);
    await admin.db('shop').dropDatabase();
    await admin
      .db('shop')
      .collection('items')
      .insertMany([{ a: 1 }, { a: 2 }]);
    await until('it answers', async () => {
      return await run({ ping: 1 }).then(
        () => true,
        (error: unknown) => {
          if (isTransient(error)) return false;
          throw error;
        },
      );
    });
  });
  afterEach(async () => {
    await hold('off');
    for (const proxy of proxied.proxies) {
      proxy.release();
      proxy.heal();
    }
  });
  after(async () => {
    await cluster[Symbol.asyncDispose]();
    await admin.close();
    await proxied[Symbol.asyncDispose]();
  });

  it('is waited for as long as the server works on it', async () => {
    await hold('alwaysOn');
    const running = run(createIndexes);
    const asked = await timesAsked();
    await until('it was asked for often', async () => (await timesAsked()) >= asked + 6);
    await hold('off');
    assert.equal((await running).field('ok').number(), 1);
  });

  it('is given up when it does not arrive', async () => {
    strandAt('createIndexes');
    await assertGivenUp(run(createIndexes));
    assert.equal((await indexNames()).includes('a'), false);
  });

  it('is given up when only a part of it arrives', async () => {
    strandAt('insert');
    const documents = Array.from({ length: 15 }, () => ({ text: 'x'.repeat(1e6) }));
    await assertGivenUp(run({ insert: 'items', documents }));
  });

  it('is given up when its answer does not arrive', async () => {
    await hold('alwaysOn');
    const running = run(createIndexes);
    const asked = await timesAsked();
    await until('it was asked for', async () => (await timesAsked()) > asked);
    for (const proxy of proxied.proxies) proxy.strand();
    await Promise.all([hold('off'), assertGivenUp(running)]);
    assert.equal((await indexNames()).includes('a'), true);
  });

  it('is given up where it reads bytes', async () => {
    const find = { find: 'items', batchSize: 1 };
    await using cursor = await RawCursor.open(cluster.raw, 'shop', find, { signal, batchSize: 1 });
    await cursor.next();
    strandAt('getMore');
    await assertGivenUp(cursor.next());
  });

  it('is given up where it is one of the driver itself', async () => {
    strandAt('findAndModify');
    const items = cluster.decoded.db('shop').collection('items');
    // The driver repeats it once.
    await assertGivenUp(items.findOneAndUpdate({ a: 1 }, { $set: { b: 1 } }));
  });

  async function run(command: Document): Promise<CheckedValue> {
    return await runCommand(cluster.decoded.db('shop'), command, { signal, deadlineMs: 'none' });
  }

  function strandAt(command: string): void {
    for (const proxy of proxied.proxies) proxy.strandAt((bytes) => bytes.includes(command));
  }

  async function hold(mode: 'alwaysOn' | 'off'): Promise<void> {
    await admin
      .db('admin')
      .command({ configureFailPoint: 'hangAfterInitializingIndexBuild', mode });
  }

  async function timesAsked(): Promise<number> {
    const status = await admin.db('admin').command({ serverStatus: 1 });
    const { aggregate } = (status['metrics'] as Metrics).commands;
    return Number(aggregate.total);
  }

  async function indexNames(): Promise<string[]> {
    const indexes = await admin.db('shop').collection('items').indexes();
    return indexes.map(({ name }) => String(name));
  }

  async function assertGivenUp(running: Promise<unknown>): Promise<void> {
    const error = await running.then(
      () => assert.fail('it went through'),
      (reason: unknown) => reason,
    );
    assert.equal(signal.aborted, false, 'it was waited for until the end of the test');
    assert.equal(isTransient(error), true, String(error));
  }
});

interface Metrics {
  readonly commands: { readonly aggregate: { readonly total: unknown } };
}
