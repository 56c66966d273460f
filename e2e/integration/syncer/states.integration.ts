import assert from 'node:assert/strict';
import type { Answer, SyncerProcess } from '../../ground/syncer-process.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, holdCommands } from './slow-commands.ts';

describe('contract 3 and 7: states, transitions and what is refused in them', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
    const shop = pair.source.client.db('shop');
    for (const name of ['a', 'b', 'c'])
      await shop.collection(name).insertMany(Array.from({ length: 50 }, (_, n) => ({ n })));
  });

  const refused = async (
    answer: Promise<Answer>,
    error: string,
    description: RegExp,
  ): Promise<void> => {
    const { status, body } = await answer;
    assert.equal(body['error'], error, JSON.stringify(body));
    assert.equal(status, 409);
    assert.equal(body['success'], false);
    assert.match(String(body['errorDescription']), description);
  };

  it('IDLE, RUNNING, COMMITTING, COMMITTED; start and commit are refused in all others', async () => {
    await using syncer = await pair.syncer({ options: { copyWorkers: 1 } });
    const state = async (): Promise<string> => (await syncer.progress()).state;
    assert.equal(await state(), 'IDLE');
    await refused(syncer.post('commit', {}), 'InvalidStateTransition', /state is IDLE/);

    {
      await using copy = await holdCommands(pair.destination, 'insert', 'shop.a');
      await syncer.start(forward);
      assert.equal(await state(), 'RUNNING');
      await refused(syncer.post('start', forward), 'InvalidStateTransition', /state is RUNNING/);
      await refused(syncer.post('commit', {}), 'CannotCommitYet', /copy/);
      assert.equal((await syncer.waitFor(() => true)).info, 'collection copy');
      await copy.reached(1);
    }
    await syncer.waitFor(({ canCommit }) => canCommit);
    await refused(syncer.post('start', forward), 'InvalidStateTransition', /state is RUNNING/);

    {
      await using changes = await holdCommands(pair.source, 'getMore');
      await changes.reached(1);
      await syncer.commit();
      assert.equal(await state(), 'COMMITTING');
      await refused(syncer.post('start', forward), 'InvalidStateTransition', /state is COMMITTING/);
      await refused(syncer.post('commit', {}), 'InvalidStateTransition', /state is COMMITTING/);
    }

    await syncer.waitFor((progress) => progress.state === 'COMMITTED');
    await refused(syncer.post('start', forward), 'InvalidStateTransition', /state is COMMITTED/);
    await refused(syncer.post('commit', {}), 'InvalidStateTransition', /state is COMMITTED/);
    await pair.assertEqual();
  });

  it('a wrong body in the wrong state changes nothing', async () => {
    await using syncer = await pair.syncing();
    assert.equal((await syncer.post('start', { source: 1 })).body['success'], false);
    assert.equal((await syncer.post('commit', { force: true })).body['error'], 'InvalidBody');
    assert.equal((await syncer.progress()).state, 'RUNNING');
    await commitAndWait(syncer);
  });

  it('of ten clients that send start at the same time exactly one succeeds', async () => {
    await using syncer = await pair.syncer();
    await exactlyOne(syncer, 'start', forward);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await exactlyOne(syncer, 'commit', {});
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    await pair.assertEqual();
  });

  it('of two processes that send start to the same destination exactly one succeeds', async () => {
    await using one = await pair.syncer({ options: { id: 'one' } });
    await using other = await pair.syncer({ options: { id: 'other' } });
    const answers = await Promise.all([one.post('start', forward), other.post('start', forward)]);
    const errors = answers.map(({ body }) => body['error'] ?? 'none').sort();
    // The other one begins no sync of its own, and is told whose it is, whether it came too late or lost the race.
    assert.deepEqual(errors, ['NotAnInstance', 'none']);
  });

  it('a second process of the same --id takes the sync over; the first one stops with a name', async () => {
    await using first = await pair.syncing();
    await using second = await pair.syncer();
    await second.waitFor(({ canCommit }) => canCommit);
    await pair.source.client.db('shop').collection('a').insertOne({ n: 1000 });
    await assert.rejects(
      first.waitFor(() => false),
      /"SupersededByOtherInstance: /,
    );
    await commitAndWait(second);
    await pair.assertEqual();
  });

  it('COMMITTED is remembered: a restarted process refuses start and commit', async () => {
    await using syncer = await pair.syncing();
    await commitAndWait(syncer);
    const before = await syncer.progress();
    await syncer.kill('SIGTERM');
    await syncer.restart();
    assert.deepEqual(await syncer.progress(), before);
    await refused(syncer.post('start', forward), 'InvalidStateTransition', /state is COMMITTED/);
    await refused(syncer.post('commit', {}), 'InvalidStateTransition', /state is COMMITTED/);
  });

  it('continuous sync stops after commit', async () => {
    await using syncer = await pair.syncing();
    await commitAndWait(syncer);
    await pair.source.client.db('shop').collection('late').insertOne({ n: 1 });
    await pair.destination.client.db('shop').collection('own').insertOne({ n: 1 });
    const log = await syncer.log();
    assert.match(log, /"msg":"committed"/);
    await syncer.kill('SIGTERM');
    await syncer.restart();
    const copies = pair.destination.client.db('shop');
    assert.equal(await copies.collection('late').countDocuments(), 0);
    await pair.assertEqual({ exclude: ['shop.late', 'shop.own'] });
  });

  it('without a start no process touches the clusters', async () => {
    await using syncer = await pair.syncer();
    await syncer.kill('SIGTERM');
    await syncer.restart();
    assert.equal((await syncer.progress()).state, 'IDLE');
    const { databases } = await pair.destination.client.db('admin').admin().listDatabases();
    assert.deepEqual(databases.map(({ name }) => name).sort(), ['admin', 'config', 'local']);
  });
});

async function exactlyOne(syncer: SyncerProcess, command: string, body: object): Promise<void> {
  const answers = await Promise.all(
    Array.from({ length: 10 }, async () => await syncer.post(command, body)),
  );
  const lost = answers.filter(({ status }) => status !== 200);
  assert.equal(lost.length, 9);
  for (const { status, body: answer } of lost) {
    assert.equal(status, 409);
    assert.equal(answer['error'], 'InvalidStateTransition');
  }
}
