import assert from 'node:assert/strict';
import { MongoClient, type MongoServerError } from 'mongodb';
import { userWritesBlocked } from '../../ground/mongod/users.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, startSyncing, useClusterPair, type Side } from './cluster-pair.ts';
import { canBeSlow, slowCommands } from './slow-commands.ts';

describe('contract 4.1: enableUserWriteBlocking', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  const clients: MongoClient[] = [];
  beforeEach(async () => {
    await pair.reset();
    await pair.source.client.db('shop').collection('items').insertOne({ n: 0 });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });

  /** What becomes of a write of a user. */
  async function write({ set }: Side, user: 'app' | 'admin'): Promise<'written' | 'blocked'> {
    const client = new MongoClient(set.uri(user));
    clients.push(client);
    try {
      await client.db('users').collection('writes').insertOne({});
      return 'written';
    } catch (error) {
      assert.equal((error as MongoServerError).code, userWritesBlocked);
      return 'blocked';
    }
  }

  it('blocks ordinary users on the destination during the sync, and on the source after commit', async () => {
    const { source, destination } = pair;
    await using syncer = await pair.syncing({
      enableUserWriteBlocking: true,
      includeNamespaces: [{ database: 'shop' }],
    });
    assert.equal(await write(source, 'app'), 'written');
    assert.equal(await write(destination, 'app'), 'blocked');
    assert.equal(await write(destination, 'admin'), 'written', 'bypassWriteBlockingMode');
    await source.client.db('shop').collection('items').insertOne({ n: 1 });

    await syncer.commit();
    // From when commit was received on.
    assert.equal(await write(source, 'app'), 'blocked');
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    assert.equal(await write(source, 'app'), 'blocked');
    assert.equal(await write(source, 'admin'), 'written');
    assert.equal(await write(destination, 'app'), 'written');
    await pair.assertEqual({ exclude: ['users'] });
  });

  it('has begun when start is answered', async () => {
    const { destination } = pair;
    await using syncer = await pair.syncer();
    await using slow = await slowCommands(destination, ['setUserWriteBlockMode'], 2_000);
    await syncer.start({ ...forward, enableUserWriteBlocking: true });
    assert.equal(await write(destination, 'app'), 'blocked');
    await slow[Symbol.asyncDispose]();
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.equal(await write(destination, 'app'), 'blocked');
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('begins in the next process where the first one was killed before its start was answered', async () => {
    const { destination } = pair;
    await using syncer = await pair.syncer();
    await using slow = await slowCommands(destination, ['setUserWriteBlockMode'], 8_000);
    const start = syncer.start({ ...forward, enableUserWriteBlocking: true });
    await Promise.all([
      assert.rejects(start),
      slow.reached(1).then(async () => {
        assert.equal(await write(destination, 'app'), 'written');
        await syncer.kill();
      }),
    ]);
    await slow[Symbol.asyncDispose]();
    await destination.client.db('users').dropDatabase();
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.equal(await write(destination, 'app'), 'blocked');
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('canWrite is true only when ordinary users may write to the destination', async () => {
    const { source, destination } = pair;
    await source.client.db('shop').command({
      createIndexes: 'items',
      indexes: [{ key: { n: 1 }, name: 'n', unique: true }],
    });
    await using syncer = await pair.syncing({ enableUserWriteBlocking: true });
    assert.equal((await syncer.progress()).canWrite, false);
    await syncer.commit();
    await syncer.waitFor(({ canWrite }) => canWrite === true);
    assert.equal(await write(destination, 'app'), 'written');
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    await pair.assertEqual({ exclude: ['users'] });
  });

  it('stays through a restart of the syncer', async () => {
    const { source, destination } = pair;
    await using syncer = await pair.syncing({ enableUserWriteBlocking: true });
    await syncer.kill();
    assert.equal(await write(destination, 'app'), 'blocked');
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.equal(await write(destination, 'app'), 'blocked');
    await commitAndWait(syncer);
    assert.equal(await write(source, 'app'), 'blocked');
    assert.equal(await write(destination, 'app'), 'written');
  });

  it('is reported by progress and the log, also by a process started after a crash in the commit', async () => {
    const warnings = (...names: string[]): string[] => [
      `writes by ordinary users are blocked on ${names.join(' and ')}`,
    ];
    await pair.source.client.db('shop').command({
      createIndexes: 'items',
      indexes: [{ key: { n: 1 }, name: 'n', unique: true }],
    });
    await using syncer = await pair.syncing({ enableUserWriteBlocking: true });
    assert.deepEqual((await syncer.progress()).warnings, warnings('cluster1'));
    const slow = await slowCommands(pair.destination, ['collMod'], 8_000);
    await syncer.commit();
    assert.deepEqual((await syncer.progress()).warnings, warnings('cluster0', 'cluster1'));
    await syncer.kill();
    assert.equal(await write(pair.source, 'app'), 'blocked');
    const before = (await syncer.log()).length;
    await syncer.restart();
    assert.deepEqual((await syncer.progress()).warnings, warnings('cluster0', 'cluster1'));
    const ready = (await syncer.log())
      .slice(before)
      .split('\n')
      .find((line) => line.includes('"ready"'));
    assert.match(ready ?? '', /"state":"COMMITTING","blocked":\["cluster0","cluster1"\]/);
    await slow[Symbol.asyncDispose]();
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    assert.deepEqual((await syncer.progress()).warnings, warnings('cluster0'));
  });

  it('is reported by a process that cannot reach the source', async () => {
    const { source, destination } = pair;
    await using syncer = await pair.syncer({ until: 'listening' });
    await syncer.waitFor(({ state }) => state === 'IDLE');
    await startSyncing(syncer, { enableUserWriteBlocking: true });
    await syncer.kill();
    const [member] = source.set.members;
    assert.ok(member);
    await source.set.kill(member);
    try {
      await syncer.restart();
      await until('it tells of both', async () => {
        const text = String((await syncer.getProgress()).body['error']);
        return /^ClusterUnreachable: .*; writes by ordinary users are blocked on cluster1$/.test(
          text,
        );
      });
      assert.match(await syncer.log(), /"reason":".*are blocked on cluster1"/);
      assert.equal(await write(destination, 'app'), 'blocked');
    } finally {
      await source.set.restart(member);
      await source.set.primary();
    }
    await until('it is ready', async () => (await syncer.getProgress()).status === 200);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    assert.equal(await write(destination, 'app'), 'written');
  });

  it('that is not permitted any more stops a commit by name; with the privilege back, a restart continues', async () => {
    const { source } = pair;
    const admin = source.client.db('admin');
    await using syncer = await pair.syncing({ enableUserWriteBlocking: true });
    const { users } = await admin.command({ usersInfo: 'syncer' });
    const { roles } = (users as [{ roles: { role: string }[] }])[0];
    await admin.command({
      createRole: 'onlyNotes',
      privileges: [{ resource: { cluster: true }, actions: ['appendOplogNote'] }],
      roles: ['clusterMonitor', 'readAnyDatabase'],
    });
    await admin.command({ updateUser: 'syncer', roles: ['onlyNotes'] });
    try {
      const { status, body } = await syncer.post('commit', {});
      assert.equal(status, 409, JSON.stringify(body));
      assert.equal(body['error'], 'MissingPrivileges');
      const progress = await syncer.getProgress();
      assert.match(
        String(progress.body['error']),
        /^MissingPrivileges: .*blocked on cluster0 and cluster1$/,
      );
    } finally {
      await admin.command({ updateUser: 'syncer', roles });
      await admin.command({ dropRole: 'onlyNotes' });
    }
    await syncer.kill();
    await syncer.restart();
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    assert.equal(await write(source, 'app'), 'blocked');
  });

  it('is off by default: nobody is blocked on either side', async () => {
    const { source, destination } = pair;
    await using syncer = await pair.syncing({ includeNamespaces: [{ database: 'shop' }] });
    assert.equal(await write(source, 'app'), 'written');
    assert.equal(await write(destination, 'app'), 'written');
    await commitAndWait(syncer);
    assert.equal(await write(source, 'app'), 'written');
    assert.equal(await write(destination, 'app'), 'written');
  });

  it('is reported if something else has blocked users, and left as it is if it is off', async () => {
    const { destination } = pair;
    const admin = destination.client.db('admin');
    await admin.command({ setUserWriteBlockMode: 1, global: true });
    try {
      await using syncer = await pair.syncing();
      const told = 'writes by ordinary users were blocked on cluster1 before this sync';
      const { warnings } = await syncer.progress();
      assert.equal(warnings?.filter((warning) => warning.startsWith(told)).length, 1);
      await commitAndWait(syncer);
      assert.equal(await write(destination, 'app'), 'blocked');
    } finally {
      await admin.command({ setUserWriteBlockMode: 1, global: false });
    }
    assert.equal(await write(destination, 'app'), 'written');
  });

  it('blocks nobody when start is refused', async () => {
    await pair.destination.client.db('shop').collection('there').insertOne({});
    await using syncer = await pair.syncer();
    const answer = await syncer.post('start', { ...forward, enableUserWriteBlocking: true });
    assert.equal(answer.body['error'], 'DestinationNotEmpty');
    assert.equal(await write(pair.destination, 'app'), 'written');
  });
});

describe('contract 4.1: enableUserWriteBlocking where nobody is authenticated', () => {
  // Takes connections with and without users, as a server without access control does.
  const pair = useClusterPair({ args: ['--transitionToAuth'] });
  beforeEach(async () => {
    await pair.reset();
    await pair.source.client.db('shop').collection('items').insertOne({ n: 0 });
  });

  const withoutUser = ({ set }: Side): string => set.uri('syncer').replace(/\/\/.*@/, '//');

  for (const side of ['source', 'destination'] as const) {
    const cluster = side === 'source' ? 'cluster0' : 'cluster1';

    it(`on the ${side}: refused at start and by a dry run, by name, and nobody is blocked`, async () => {
      await using syncer = await pair.syncer({ [cluster]: withoutUser(pair[side]) });
      for (const command of ['preflight', 'start']) {
        const body = { ...forward, enableUserWriteBlocking: true };
        const answer = await syncer.post(command, body);
        assert.equal(answer.body['error'], 'WriteBlockingNeedsUser', command);
        assert.equal(answer.status, 409);
        const description = String(answer.body['errorDescription']);
        assert.match(description, new RegExp(`the connection to ${cluster} is not authenticated`));
      }
      assert.equal((await syncer.progress()).state, 'IDLE');
      for (const { client } of [pair.source, pair.destination]) {
        const status = await client.db('admin').command({ serverStatus: 1, repl: 1 });
        const { userWriteBlockMode } = status['repl'] as { userWriteBlockMode: unknown };
        assert.equal(userWriteBlockMode, 1);
      }
    });
  }

  it('is no obstacle without write blocking', async () => {
    await using syncer = await pair.syncer({
      cluster0: withoutUser(pair.source),
      cluster1: withoutUser(pair.destination),
    });
    await startSyncing(syncer, {});
    await commitAndWait(syncer);
    await pair.assertEqual();
  });
});
