import assert from 'node:assert/strict';
import { TcpProxy } from '../../ground/tcp-proxy.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';
import { isBlocked } from './reset-outcome.ts';
import { canBeSlow, slowCommands } from './slow-commands.ts';

const count = 12_000;

describe('a syncer whose place another process has taken', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
  });

  it('was frozen, and does not write what it had in hand over what the other one has written since', async () => {
    const items = pair.source.client.db('shop').collection<{ _id: number }>('items');
    await items.insertOne({ _id: -1 });
    // Polled to see whether it is there: a connection with a pending read ends when the process continues.
    const cluster1 = pair.destination.set.uri('syncer', { serverMonitoringMode: 'poll' });
    await using frozen = await pair.syncing({}, { cluster1 });
    const slow = await slowCommands(pair.destination, ['insert'], 1_000, 'shop.items');
    await items.insertMany(Array.from({ length: count }, (_, _id) => ({ _id })));
    await frozen.waitFor(({ totalEventsApplied }) => (totalEventsApplied ?? 0) > 0);
    await frozen.kill('SIGSTOP');
    await slow[Symbol.asyncDispose]();

    await items.deleteMany({ _id: { $gte: 0 } });
    // It waits for half a minute: the server takes the connections of the other one for open.
    await using next = await pair.syncer();
    await next.waitFor(({ canCommit }) => canCommit);
    const copies = pair.destination.client.db('shop').collection('items');
    await next.waitFor(({ lagTimeSeconds }) => (lagTimeSeconds ?? 9) <= 1);
    await until('all is applied', async () => (await copies.countDocuments()) === 1);
    await frozen.kill('SIGCONT');
    // It closes the connections of those that asked it before it was frozen: it may be asked on one of them.
    await until('the end of the one before', async () =>
      (await frozen.log()).includes('"error":"SupersededByOtherInstance"'),
    );
    await commitAndWait(next);
    await pair.assertEqual();
  });

  it('was cut off, and does not do so either when it reaches the destination again', async () => {
    const items = pair.source.client.db('shop').collection<{ _id: number }>('items');
    await items.insertOne({ _id: -1 });
    const { set } = pair.destination;
    const uri = new URL(set.directUri('syncer', await set.primary()));
    await using proxy = await TcpProxy.start(Number(uri.port));
    uri.port = String(proxy.port);
    await using cutOff = await pair.syncing({}, { cluster1: uri.href });
    const slow = await slowCommands(pair.destination, ['insert'], 3_000, 'shop.items');
    await items.insertMany(Array.from({ length: 3_000 }, (_, _id) => ({ _id })));
    await slow.reached(1);
    proxy.refuse();
    await slow[Symbol.asyncDispose]();

    await items.deleteMany({ _id: { $gte: 0 } });
    // The server knows of the end of the connections: nothing is waited for.
    await using next = await pair.syncer();
    await next.waitFor(({ canCommit }) => canCommit);
    const copies = pair.destination.client.db('shop').collection('items');
    await until('all is applied', async () => (await copies.countDocuments()) === 1);
    // It hears late that the instance is another's.
    const slowStore = await slowCommands(
      pair.destination,
      ['update'],
      2_000,
      'clustersync_internal.instances',
    );
    proxy.heal();
    await until('the end of the one before', async () => {
      assert.equal(await copies.countDocuments(), 1);
      const { body } = await cutOff.getProgress();
      return String(body['error']).startsWith('SupersededByOtherInstance');
    });
    await slowStore[Symbol.asyncDispose]();
    await commitAndWait(next);
    await pair.assertEqual();
  });

  it('was frozen in its start, and does not block the users of a destination that is in use since', async () => {
    await pair.source.client.db('shop').collection('items').insertOne({ n: 1 });
    await using frozen = await pair.syncer();
    const slow = await slowCommands(pair.destination, ['appendOplogNote'], 3_000);
    const started = frozen.post('start', { ...forward, enableUserWriteBlocking: true });
    const answered = started.catch(() => undefined);
    const state = pair.destination.client.db('clustersync_internal').collection('sync');
    await until('the sync is stored', async () => (await state.countDocuments()) > 0);
    await frozen.kill('SIGSTOP');
    await slow[Symbol.asyncDispose]();
    await using next = await pair.syncer();
    await next.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(next);
    assert.equal(await isBlocked(pair.destination), false);
    await frozen.kill('SIGCONT');
    const answer = await answered;
    assert.equal(await isBlocked(pair.destination), false);
    assert.deepEqual([answer?.status, answer?.body['error']], [500, 'SupersededByOtherInstance']);
  });
});
