import assert from 'node:assert/strict';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, useClusterPair } from './cluster-pair.ts';
import { skipUnlessReversible } from './skip-reversal.ts';
import { canBeSlow, delayNext } from './slow-commands.ts';

describe('a reversal whose process was killed while a server had a command of it', () => {
  before(async function () {
    await skipUnlessReversible(this);
  });
  const pair = useClusterPair({ parameters: canBeSlow });

  /** A sync that is committed, and can be reversed. */
  async function committed(): Promise<SyncerProcess> {
    const { source, destination } = pair;
    await pair.reset();
    await source.client.db('shop').collection<{ _id: number }>('items').insertOne({ _id: 0 });
    // Polled to see whether it is there: a connection with a pending read ends when the process continues.
    const uris = {
      cluster0: source.set.uri('syncer', { serverMonitoringMode: 'poll' }),
      cluster1: destination.set.uri('syncer', { serverMonitoringMode: 'poll' }),
    };
    const options = { enableUserWriteBlocking: true, reversible: true };
    const syncer = await pair.syncing(options, uris);
    await commitAndWait(syncer);
    return syncer;
  }

  /** Lets a frozen process continue, and waits until it has seen that another one has taken its place. */
  async function thawed(frozen: SyncerProcess): Promise<void> {
    await frozen.kill('SIGCONT');
    await until('the end of the one before', async () =>
      (await frozen.log()).includes('"error":"SupersededByOtherInstance"'),
    );
  }

  it('keeps its record: what was sent to the new destination comes before it', async () => {
    const { source, destination } = pair;
    const items = source.client.db('shop').collection<{ _id: number }>('items');
    await items.insertOne({ _id: 0 });
    await using syncer = await pair.syncing({ enableUserWriteBlocking: true, reversible: true });
    await commitAndWait(syncer);
    await destination.client.db('shop').collection<{ _id: number }>('items').insertOne({ _id: 1 });

    const reached = await delayNext(source, 'drop', 10_000);
    const reversing = syncer.post('reverse', {}).catch(() => undefined);
    await reached();
    await syncer.kill();
    await reversing;
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await until('the server has ended what it had of before', async () => {
      const match = { 'command.drop': { $exists: true } };
      const running = source.client
        .db('admin')
        .aggregate([{ $currentOp: { allUsers: true } }, { $match: match }]);
      return (await running.toArray()).length === 0;
    });
    await commitAndWait(syncer);
    await syncer.kill();
    await syncer.restart();
    const { state, directionMapping } = await syncer.progress();
    assert.equal(state, 'COMMITTED');
    assert.match(String(directionMapping?.Destination), /^cluster0/);
    await pair.assertEqual();
  });

  it('is left to the process that has taken its place, where it was frozen in it and is thawed', async () => {
    const { source, destination } = pair;
    await using frozen = await committed();
    const items = destination.client.db('shop').collection<{ _id: number }>('items');
    await items.insertOne({ _id: 1 });
    const reached = await delayNext(source, 'drop', 3_000);
    const reversing = frozen.post('reverse', {}).catch(() => undefined);
    await reached();
    await frozen.kill('SIGSTOP');

    await using next = await pair.syncer();
    await next.waitFor(({ canCommit }) => canCommit);
    await items.insertOne({ _id: 2 });
    await thawed(frozen);
    await reversing;
    const { state, directionMapping } = await next.progress();
    assert.equal(state, 'RUNNING');
    assert.match(String(directionMapping?.Destination), /^cluster0/);
    await commitAndWait(next);
    await pair.assertEqual();
  });

  it('takes nothing of a state that has come back, where it was frozen while it removed the former one', async () => {
    const { destination } = pair;
    await using frozen = await committed();
    const reached = await delayNext(destination, 'drop', 3_000);
    const reversing = frozen.post('reverse', {}).catch(() => undefined);
    await reached();
    await frozen.kill('SIGSTOP');

    await using next = await pair.syncer();
    await next.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(next);
    assert.equal((await next.post('reverse', {})).status, 200);
    await next.waitFor(({ canCommit }) => canCommit);
    await thawed(frozen);
    await reversing;
    const state = destination.client.db('clustersync_internal');
    const left = (await state.listCollections().toArray()).map(({ name }) => name);
    assert.deepEqual(
      ['collections', 'instances', 'sync'].filter((name) => !left.includes(name)),
      [],
    );
    await commitAndWait(next);
    await pair.assertEqual();
  });

  it('creates no record where it was frozen before that, and the sync was reset meanwhile', async () => {
    const { source } = pair;
    await using frozen = await committed();
    const namespace = 'clustersync_internal.collections';
    const reached = await delayNext(source, 'update', 3_000, { namespace });
    const reversing = frozen.post('reverse', {}).catch(() => undefined);
    await reached();
    await frozen.kill('SIGSTOP');

    await using next = await pair.syncer();
    assert.equal((await next.post('reset', { destination: 'Keep' })).status, 200);
    await next.waitFor(({ state }) => state === 'IDLE');
    await thawed(frozen);
    await reversing;
    const records = source.client.db('clustersync_internal').collection('sync');
    assert.deepEqual(await records.find().toArray(), []);
  });
});
