import assert from 'node:assert/strict';
import { MongoClient, type Document } from 'mongodb';
import { CliProcess } from '../../ground/cli-process.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, useClusterPair } from '../syncer/cluster-pair.ts';
import { skipUnlessReversible } from '../syncer/skip-reversal.ts';
import { syncerConnections } from './syncer-connections.ts';

type Uris = Readonly<Record<'source' | 'destination', string>>;

/** One thing that is not as it was. */
interface Change {
  readonly what: string;
  readonly args?: readonly string[];
  readonly uris?: Partial<Uris>;
  /** What is said of it. */
  readonly said: RegExp;
  /** Word for word. */
  readonly names?: string;
  /** Also without being told to commit, and in a dry run. */
  readonly isFull?: boolean;
}

const begun = ['--include-namespaces', 'shop', '--no-verify'];

/** The options that a sync was started with, each with another value. */
const otherOptions: readonly (readonly [option: string, args: readonly string[], said: string])[] =
  [
    [
      'includeNamespaces',
      ['--no-verify'],
      'includeNamespaces was [{"database":"shop"}], and is not given here',
    ],
    [
      'excludeNamespaces',
      [...begun, '--exclude-namespaces', 'shop.items'],
      'excludeNamespaces was not given, and is [{"collections":["items"],"database":"shop"}] here',
    ],
    [
      'buildIndexes',
      [...begun, '--build-indexes', 'never'],
      'buildIndexes was "beforeDataCopy", and is "never" here',
    ],
    [
      'enableUserWriteBlocking',
      [...begun, '--enable-user-write-blocking'],
      'enableUserWriteBlocking was false, and is true here',
    ],
    [
      'reversible',
      [...begun, '--enable-user-write-blocking', '--reversible'],
      'enableUserWriteBlocking was false, and is true here; reversible was false, and is true here',
    ],
    [
      'sharding',
      [...begun, '--sharding-file', '{sharding}'],
      'sharding was not given, and is {"shardingEntries":[]} here',
    ],
  ];

const waysOut = /\nUse the options that the sync was started with\. .*explicitly/;

describe('clustersync run, repeated with something else than before', () => {
  const pair = useClusterPair();
  let third: ReplicaSet | undefined;
  let thirdClient: MongoClient | undefined;

  before(async () => {
    third = await startReplicaSet({ members: 1, name: 'third' });
    thirdClient = new MongoClient(third.uri('admin'));
    await thirdClient.db('shop').collection('orders').insertOne({ name: 'another' });
  });
  after(async () => {
    await thirdClient?.close();
    await third?.stop();
  });
  beforeEach(async () => {
    await pair.reset();
    const shop = pair.source.client.db('shop');
    await shop.collection('orders').insertMany(Array.from({ length: 50 }, (_, n) => ({ n })));
    await shop.collection('items').insertOne({ name: 'nail' });
  });

  function uris(): Uris {
    return {
      source: pair.source.set.uri('syncer'),
      destination: pair.destination.set.uri('syncer'),
    };
  }

  function thirdUri(): string {
    assert.ok(third);
    return third.uri('syncer');
  }

  async function run(
    args: readonly string[],
    changed: Partial<Uris> = {},
  ): Promise<{ readonly exitCode: number | null; readonly said: string }> {
    const files = { ...uris(), ...changed, sharding: '{"shardingEntries": []}' };
    const connections = ['--source-file', '{source}', '--destination-file', '{destination}'];
    await using cli = await CliProcess.start(['run', ...connections, ...args], { files });
    const { exitCode } = await cli.end();
    return { exitCode, said: `${await cli.output()}${await cli.errors()}` };
  }

  /**
   * Everything that a sync could change: documents, catalogs, its own state, and who may write.
   * @param withInstances - also that a process works on it.
   */
  async function everything(withInstances = false): Promise<unknown> {
    const clients = [pair.source.client, pair.destination.client, thirdClient];
    return await Promise.all(
      clients.map(async (client) => client && (await stateOf(client, withInstances))),
    );
  }

  /** @param args - with these the sync is begun, which has caught up and is paused. */
  async function stopped(args = begun): Promise<void> {
    const { exitCode, said } = await run(args);
    assert.equal(exitCode, 3, said);
  }

  async function refuses(change: Change): Promise<void> {
    const {
      what,
      args = begun,
      uris: changed,
      said: expected,
      names = '',
      isFull = false,
    } = change;
    const before = await everything();
    const committing = ['--commit-when-caught-up'];
    for (const more of isFull ? [committing, [], ['--dry-run']] : [committing]) {
      const { exitCode, said } = await run([...args, ...more], changed);
      const context = `${what} ${more.join(' ')}: ${said}`;
      assert.equal(exitCode, 2, context);
      assert.match(said, expected, context);
      assert.ok(said.includes(names), context);
    }
    assert.deepEqual(await everything(), before, what);
  }

  function optionChanges(): Change[] {
    return otherOptions.map(([what, args, said], index) => ({
      what,
      args,
      isFull: index === 0,
      names: `the sync was started with different options: ${said} (DifferentSync)\n`,
      said: waysOut,
    }));
  }

  it('is refused before anything is done, and the sync continues with its original options', async () => {
    await stopped();
    for (const change of optionChanges()) await refuses(change);
    await refuses({
      what: 'the source',
      uris: { source: thirdUri() },
      said: /cluster1 holds the state of a sync from a deployment other than the one that cluster0 now points to \(OtherSyncUnfinished\)\nFinish the other sync, or end it/,
    });
    await refuses({
      what: 'both sides exchanged',
      isFull: true,
      uris: { source: uris().destination, destination: uris().source },
      said: /cluster0 is the destination of an unfinished sync from cluster1, .* \(OtherSyncUnfinished\)\nFinish the other sync, or end it/,
    });
    const { exitCode, said } = await run([...begun, '--commit-when-caught-up']);
    assert.equal(exitCode, 0, said);
    assert.match(said, /continuing to sync .*, which is PAUSED/);
    await pair.assertEqual();
    // What is committed is not said to be so of another sync, either.
    for (const change of optionChanges().slice(0, 1)) await refuses(change);
    await refuses({
      what: 'the source of what is committed',
      uris: { source: thirdUri() },
      said: /cluster1 holds the state of another sync, between other deployments, .*\n/,
    });
  });

  it('moves nothing of what a killed run has left, in a dry run or while it may be another sync', async () => {
    const args = [...begun, '--commit-when-caught-up'];
    {
      const files = uris();
      const connections = ['--source-file', '{source}', '--destination-file', '{destination}'];
      await using killed = await CliProcess.start(['run', ...connections, ...begun], { files });
      const states = pair.destination.client.db('clustersync_internal').collection('sync');
      await until('it is recorded', async () => (await states.findOne())?.['state'] === 'RUNNING');
      await killed.kill('SIGKILL');
      await until(
        'its syncer ends with it',
        async () => (await syncerConnections(pair.source.client)) === 0,
      );
    }
    await pair.source.client.db('shop').collection('orders').insertOne({ n: 'since then' });
    const before = await everything(true);
    const dry = await run([...args, '--dry-run']);
    assert.equal(dry.exitCode, 0, dry.said);
    assert.match(dry.said, /This migration is in progress: RUNNING\./);
    for (const { what, args: changed = [], said: expected } of optionChanges()) {
      const { exitCode, said } = await run([...changed, '--commit-when-caught-up']);
      assert.equal(exitCode, 2, `${what}: ${said}`);
      assert.match(said, expected, what);
    }
    assert.deepEqual(await everything(true), before);
    const { exitCode, said } = await run(args);
    assert.equal(exitCode, 0, said);
    assert.match(said, /continuing to sync .*, which is RUNNING/);
    await pair.assertEqual();
  });

  it('begins a sync of its own on another destination, and leaves the former one alone', async () => {
    await stopped();
    await thirdClient?.db('shop').dropDatabase();
    const former = await stateOf(pair.destination.client);
    const { exitCode, said } = await run(begun, { destination: thirdUri() });
    assert.equal(exitCode, 3, said);
    assert.match(said, /moving the replica set \S+ at \S+ \(\S+\) to the replica set third at /);
    assert.doesNotMatch(said, /continuing to sync/);
    assert.equal(await thirdClient?.db('shop').collection('orders').countDocuments(), 50);
    assert.deepEqual(await stateOf(pair.destination.client), former);
  });

  it('does not call equal what was moved back and forth since it was compared', async function () {
    await skipUnlessReversible(this);
    const args = ['--enable-user-write-blocking', '--reversible', '--commit-when-caught-up'];
    const first = await run(args);
    assert.equal(first.exitCode, 0, first.said);
    {
      await using syncer = await pair.syncer();
      for (const reversals of [1, 2]) {
        assert.equal((await syncer.post('reverse', {})).status, 200);
        await syncer.waitFor(({ canCommit }) => canCommit);
        assert.equal((await syncer.progress()).reversals, reversals);
        await commitAndWait(syncer);
      }
    }
    const orders = pair.destination.client.db('shop').collection('orders');
    await orders.updateOne({ n: 7 }, { $set: { text: 'changed since' } });
    for (const more of [[], ['--dry-run']]) {
      const { exitCode, said } = await run([...args, ...more]);
      assert.match(said, /the sync has been reversed: /);
      assert.doesNotMatch(said, /equal/);
      assert.equal(exitCode, 2, said);
    }
  });
});

/** What there is on a deployment: each document, catalog and index, and whether users may write. */
async function stateOf(client: MongoClient, withInstances = false): Promise<unknown> {
  const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
  const found: unknown[] = [];
  for (const { name } of databases) {
    if (['admin', 'config', 'local'].includes(name)) continue;
    const db = client.db(name);
    const infos = (await db.listCollections().toArray()) as (Document & { name: string })[];
    for (const info of infos.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
      // In the one a process says that it works, the other is the server's.
      if (info.name === 'instances' && !withInstances) continue;
      if (info.name.startsWith('system.')) continue;
      const documents =
        info['type'] === 'view' ? [] : await db.collection(info.name).find().toArray();
      const indexes = info['type'] === 'collection' ? await db.collection(info.name).indexes() : [];
      found.push([name, info, indexes, documents]);
    }
  }
  const status = await client.db('admin').command({ serverStatus: 1 });
  const { userWriteBlockMode } = (status['repl'] ?? {}) as Document;
  return [found, userWriteBlockMode];
}
