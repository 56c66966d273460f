import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import { runLongCommand } from '../../../mongo/long-command.ts';
import { isTransient } from '../../../mongo/server-errors.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { until } from '../../ground/until.ts';

describe('a command that takes as long as there are documents', () => {
  const everyMs = 50;
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
      silenceMs: 300,
    });
  });
  beforeEach(async () => {
    signal = AbortSignal.timeout(50_000);
    await admin.db('shop').dropDatabase();
    await admin.db('shop').collection('items').insertOne({ a: 1 });
  });
  afterEach(async () => {
    await hold('off');
    for (const proxy of proxied.proxies) proxy.heal();
  });
  after(async () => {
    await cluster[Symbol.asyncDispose]();
    await admin.close();
    await proxied[Symbol.asyncDispose]();
  });

  it('gets its answer', async () => {
    const answer = await runLongCommand(cluster, 'shop', createIndexes, { signal, everyMs });
    assert.equal(answer['numIndexesAfter'], 2);
  });

  it('fails with the error of the server', async () => {
    const command = { createIndexes: 'items', indexes: [{ key: { a: 1 } }] };
    await assert.rejects(runLongCommand(cluster, 'shop', command, { signal, everyMs }), {
      codeName: 'FailedToParse',
    });
  });

  it('is waited for as long as the server works on it, though the connection is silent', async () => {
    await hold('alwaysOn');
    const running = runLongCommand(cluster, 'shop', createIndexes, { signal, everyMs });
    const asked = await timesAsked();
    await until('it was asked for often', async () => (await timesAsked()) >= asked + 12);
    await hold('off');
    assert.equal((await running)['ok'], 1);
  });

  it('is given up when it does not arrive', async () => {
    await runLongCommand(cluster, 'shop', { collMod: 'items' }, { signal, everyMs });
    for (const proxy of proxied.proxies) proxy.strandAt((bytes) => bytes.includes('createIndexes'));
    await assertGivenUp(runLongCommand(cluster, 'shop', createIndexes, { signal, everyMs }));
    assert.equal((await indexNames()).includes('a'), false);
  });

  it('is given up when its answer does not arrive', async () => {
    await hold('alwaysOn');
    const running = runLongCommand(cluster, 'shop', createIndexes, { signal, everyMs });
    const asked = await timesAsked();
    await until('it was asked for', async () => (await timesAsked()) > asked);
    for (const proxy of proxied.proxies) proxy.strand();
    await Promise.all([hold('off'), assertGivenUp(running)]);
    assert.equal((await indexNames()).includes('a'), true);
  });

  it('leaves nothing of ours in the oplog', async () => {
    const command = { collMod: 'items', validator: { a: { $exists: true } } };
    await runLongCommand(cluster, 'shop', command, { signal, everyMs });
    const entry = await admin
      .db('local')
      .collection('oplog.rs')
      .findOne({ 'o.collMod': 'items', 'o.validator': { $exists: true } });
    assert.deepEqual(entry?.['o'], command);
  });

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
});

interface Metrics {
  readonly commands: { readonly aggregate: { readonly total: unknown } };
}

async function assertGivenUp(running: Promise<unknown>): Promise<void> {
  const error = await running.then(
    () => assert.fail('it went through'),
    (reason: unknown) => reason,
  );
  assert.equal(isTransient(error), true, String(error));
}
