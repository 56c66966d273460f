import assert from 'node:assert/strict';
import { MongoClient, type Db, type Document } from 'mongodb';
import { metricsOf } from '../../ground/syncer-metrics.ts';
import type { SyncerProcess, SyncerProgress } from '../../ground/syncer-process.ts';
import { reliableMs } from '../../../syncer/store/instance-ownership.ts';
import { TcpProxy } from '../../ground/tcp-proxy.ts';
import { until } from '../../ground/until.ts';
import { freezeProcess } from '../../ground/freeze-process.ts';
import { commandKind } from './command-kind.ts';
import { commitAndWait, forward, namespacesOf, useClusterPair } from './cluster-pair.ts';
import { isBlocked } from './reset-outcome.ts';
import { canBeSlow, delayNext, setFailPoint, slowCommands } from './slow-commands.ts';

const count = 12_000;
const success = { status: 200, body: { success: true } };

/** The question by which a process makes sure that a command which it is about to store is not stored yet. */
const isAboutToBeStored = (bytes: Buffer): boolean =>
  commandKind(bytes) === 'find of the state' && bytes.includes('received.0');

describe('a syncer whose place another process has taken', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
  });

  const stateDatabase = (): Db => pair.destination.client.db('clustersync_internal');

  async function instance(): Promise<Document | null> {
    return await stateDatabase().collection('instances').findOne();
  }

  /** Which process has the place. */
  async function holder(): Promise<unknown> {
    return (await instance())?.['incarnation'];
  }

  async function heartbeatMs(): Promise<number> {
    return ((await instance())?.['heartbeatAt'] as Date | undefined)?.getTime() ?? NaN;
  }

  /** A proxy before the primary of a side, and the address of that by way of it. */
  async function proxied({ set } = pair.destination): Promise<readonly [TcpProxy, URL]> {
    const uri = new URL(set.directUri('syncer', await set.primary()));
    const proxy = await TcpProxy.start(Number(uri.port));
    uri.port = String(proxy.port);
    return [proxy, uri];
  }

  /** The same, polled to see whether it is there: a connection with a pending read ends when a frozen process continues. */
  async function proxiedAndPolled(side = pair.destination): Promise<readonly [TcpProxy, string]> {
    const [proxy, uri] = await proxied(side);
    uri.searchParams.set('serverMonitoringMode', 'poll');
    return [proxy, uri.href];
  }

  /** Waits until a syncer has applied everything that was written to the source: it applies different documents in any order. */
  async function untilApplied(syncer: SyncerProcess): Promise<void> {
    const marker = { _id: 'last' };
    await pair.source.client.db('shop').collection<{ _id: string }>('items').insertOne(marker);
    const copies = pair.destination.client.db('shop').collection<{ _id: string }>('items');
    await until('what is written last is read', async () => {
      return (await copies.countDocuments(marker)) === 1;
    });
    await until('all that is read is applied', async () => {
      return (await metricsOf(syncer)).get('clustersync_syncer_buffered_events') === 0;
    });
  }

  /** Freezes a process once it sends something of a kind. @returns what waits for that. */
  function freezeAt(
    proxy: TcpProxy,
    frozen: SyncerProcess,
    isOfKind: (bytes: Buffer) => boolean,
  ): () => Promise<void> {
    let isFrozen = false;
    proxy.strandAt((bytes) => {
      if (!isFrozen && isOfKind(bytes)) {
        isFrozen = true;
        freezeProcess(frozen.pid ?? NaN);
      }
      return false;
    });
    return async () => {
      await until('it is about to store the command', () => isFrozen);
    };
  }

  /** Another process, whose claim of the place is held for five seconds: so far it has read the sync. */
  async function claimingLate(): Promise<SyncerProcess> {
    const namespace = 'clustersync_internal.instances';
    const reached = await delayNext(pair.destination, 'findAndModify', 5_000, { namespace });
    const next = await pair.syncer();
    await reached();
    return next;
  }

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
    await untilApplied(next);
    assert.equal(await copies.countDocuments(), 2);
    await frozen.kill('SIGCONT');
    // It closes the connections of those that asked it before it was frozen: it may be asked on one of them.
    await until('the end of the one before', async () =>
      (await frozen.log()).includes('"error":"SupersededByOtherInstance"'),
    );
    await commitAndWait(next);
    await pair.assertEqual();
  });

  it('was frozen in the copy, and does not bring back what has been deleted since', async () => {
    const items = pair.source.client.db('shop').collection<{ _id: number; text: string }>('items');
    // More than is read and sent at a time.
    const text = 'x'.repeat(4_000);
    await items.insertMany(Array.from({ length: count }, (_, _id) => ({ _id, text })));
    const cluster1 = pair.destination.set.uri('syncer', { serverMonitoringMode: 'poll' });
    await using frozen = await pair.syncer({ cluster1 });
    const slow = await slowCommands(pair.destination, ['insert'], 1_000, 'shop.items');
    await frozen.start(forward);
    await frozen.waitFor(({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 0);
    await frozen.kill('SIGSTOP');
    await slow[Symbol.asyncDispose]();
    const copies = pair.destination.client.db('shop').collection('items');
    assert.ok((await copies.countDocuments()) < count, 'it is not done with the copy');

    await items.deleteMany({ _id: { $gte: 1 } });
    await using next = await pair.syncer();
    await next.waitFor(({ canCommit }) => canCommit);
    await untilApplied(next);
    assert.equal(await copies.countDocuments(), 2);
    await frozen.kill('SIGCONT');
    await until('the end of the one before', async () =>
      (await frozen.log()).includes('"error":"SupersededByOtherInstance"'),
    );
    assert.equal(await copies.countDocuments(), 2);
    await commitAndWait(next);
    await pair.assertEqual();
  });

  it('was cut off, and does not do so either when it reaches the destination again', async () => {
    const items = pair.source.client.db('shop').collection<{ _id: number }>('items');
    await items.insertOne({ _id: -1 });
    const [started, uri] = await proxied();
    await using proxy = started;
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
    await untilApplied(next);
    // It hears late that the instance is another's.
    const slowStore = await slowCommands(
      pair.destination,
      ['update'],
      2_000,
      'clustersync_internal.instances',
    );
    proxy.heal();
    await until('the end of the one before', async () => {
      assert.equal(await copies.countDocuments(), 2);
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
    const slow = await slowCommands(pair.destination, ['appendOplogNote'], 10_000);
    const started = frozen.post('start', { ...forward, enableUserWriteBlocking: true });
    const answered = started.catch(() => undefined);
    const state = stateDatabase().collection('sync');
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

  it('was frozen in its commit, and does not block the users of a source that a reset has given back since', async () => {
    await pair.source.client.db('shop').collection('items').insertOne({ n: 1 });
    const [started, cluster0] = await proxiedAndPolled(pair.source);
    await using proxy = started;
    await using frozen = await pair.syncing({ enableUserWriteBlocking: true }, { cluster0 });
    // An earlier change of who may write, for whose end the process waits.
    await using earlier = new MongoClient(pair.source.set.uri('syncer'));
    const name = 'setUserWriteBlockMode';
    const delay = { failCommands: [name], blockConnection: true, blockTimeMS: 10_000 };
    const held = await setFailPoint(pair.source, 'failCommand', delay, { times: 1 });
    const unblocked = earlier.db('admin').command({ [name]: 1, global: false });
    await held.reached(1);
    let isWaiting = false;
    proxy.judge((bytes) => {
      if (commandKind(bytes) !== 'aggregate $currentOp' || !bytes.includes(name)) return undefined;
      const onAnswer = (answer: Buffer): Buffer => {
        isWaiting = true;
        return answer;
      };
      return { kind: 'delivered', onAnswer };
    });
    const answered = frozen.post('commit', {});
    // Frozen between two questions: one that is under way would fail, as its time is over, and nothing would be sent.
    await until('it waits for that', () => isWaiting);
    await frozen.kill('SIGSTOP');
    await unblocked;
    await using next = await pair.syncer();
    assert.deepEqual(await next.post('reset', { destination: 'Unblock' }), success);
    await next.waitFor(({ state }) => state === 'IDLE');
    assert.equal(await isBlocked(pair.source), false);
    // It hears late that the instance is another's.
    const instances = 'clustersync_internal.instances';
    const slow = await slowCommands(pair.destination, ['update'], 2_000, instances);
    await frozen.kill('SIGCONT');
    const { status, body } = await answered;
    await slow[Symbol.asyncDispose]();
    assert.equal(await isBlocked(pair.source), false);
    assert.deepEqual([status, body['error']], [500, 'SupersededByOtherInstance']);
  });

  it('was frozen with a commit in hand, and does not store it when users are told that there is none', async () => {
    await pair.source.client.db('shop').collection('items').insertOne({ n: 1 });
    const [started, cluster1] = await proxiedAndPolled();
    await using proxy = started;
    await using frozen = await pair.syncing({}, { cluster1 });
    const isFrozen = freezeAt(proxy, frozen, isAboutToBeStored);
    const answered = frozen.post('commit', {});
    await isFrozen();

    await using next = await pair.syncer();
    const { state } = await next.waitFor(
      ({ canCommit, commitUnderWay }) => canCommit && commitUnderWay === false,
    );
    assert.equal(state, 'RUNNING');
    // Whoever trusts that lets the applications write again.
    await pair.source.client.db('shop').collection('items').insertOne({ n: 2 });
    await frozen.kill('SIGCONT');
    const { body } = await answered;
    assert.deepEqual([body['success'], body['error']], [false, 'SupersededByOtherInstance']);
    const after = await next.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual([after.state, after.commitUnderWay], ['RUNNING', false]);
    await pair.source.client.db('shop').collection('items').insertOne({ n: 3 });
    await commitAndWait(next);
    await pair.assertEqual();
  });

  it('stores no command, and does not take the place back', async () => {
    const items = pair.source.client.db('shop').collection('items');
    await items.insertOne({ n: 1 });
    await using former = await pair.syncing();
    assert.deepEqual(await former.post('pause', {}), success);
    await using next = await pair.syncer();
    assert.deepEqual(await next.post('resume', {}), success);
    await next.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual(await next.post('pause', {}), success);
    for (const [command, body] of [
      ['resume', {}],
      ['limits', { maxCopyDocumentsPerSecond: 200 }],
    ] as const) {
      const { body: answer } = await former.post(command, body);
      assert.equal(answer['error'], 'SupersededByOtherInstance', command);
    }
    await items.insertOne({ n: 2 });
    const { state, limits } = await next.progress();
    assert.deepEqual([state, limits?.requested], ['PAUSED', {}]);
    assert.deepEqual(await next.post('resume', {}), success);
    await next.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(next);
    await pair.assertEqual();
  });

  for (const [state, before, command, isAboutTo] of [
    ['PAUSED', 'pause', 'resume', (bytes: Buffer) => commandKind(bytes) === 'find of the state'],
    ['COMMITTED', 'commit', 'reverse', isAboutToBeStored],
  ] as const)
    it(`has never worked, as the sync is ${state}, and stores no command that it had in hand`, async () => {
      await pair.source.client.db('shop').collection('items').insertOne({ n: 1 });
      await using first = await pair.syncing({ reversible: true, enableUserWriteBlocking: true });
      assert.deepEqual(await first.post(before, {}), success);
      await first.waitFor((progress) => progress.state === state);
      await first.kill();
      const former = await holder();
      const [started, cluster1] = await proxiedAndPolled();
      await using proxy = started;
      await using frozen = await pair.syncer({ cluster1 });
      await until('it has taken the place', async () => (await holder()) !== former);
      const own = await holder();
      const takenMs = await heartbeatMs();
      const isFrozen = freezeAt(proxy, frozen, isAboutTo);
      const answered = frozen.post(command, {});
      await isFrozen();
      await using next = await pair.syncer();
      await until('the next one has taken the place', async () => (await holder()) !== own);
      // Until then it may store the command, which the next one would carry out.
      await until('its right has lapsed', () => Date.now() > takenMs + reliableMs);
      await frozen.kill('SIGCONT');
      const { body } = await answered;
      assert.deepEqual([body['success'], body['error']], [false, 'SupersededByOtherInstance']);
      assert.equal((await next.progress()).state, state);
      const record = await stateDatabase()
        .collection<{ _id: string; paused: string[] }>('sync')
        .findOne({ _id: 'sync' });
      assert.deepEqual(record?.paused, state === 'PAUSED' ? ['syncer'] : []);
      assert.deepEqual(await next.post(command, {}), success);
      await next.waitFor(({ canCommit }) => canCommit);
      await commitAndWait(next);
      await pair.assertEqual();
    });

  it('has stored its resume while the other one took the place, which carries it out', async () => {
    const items = pair.source.client.db('shop').collection('items');
    await items.insertOne({ n: 1 });
    await using former = await pair.syncing();
    assert.deepEqual(await former.post('pause', {}), success);
    await using next = await claimingLate();
    assert.deepEqual(await former.post('resume', {}), success);
    await next.waitFor(({ canCommit }) => canCommit);
    await former.kill();
    await items.insertOne({ n: 2 });
    await commitAndWait(next);
    await pair.assertEqual();
  });

  it('has stored its pause while the other one took the place, which does not work', async () => {
    const items = pair.source.client.db('shop').collection('items');
    await items.insertOne({ n: 1 });
    await using former = await pair.syncing();
    await using next = await claimingLate();
    assert.deepEqual(await former.post('pause', {}), success);
    await former.kill();
    await next.waitFor((progress) => progress.state === 'PAUSED');
    await items.insertOne({ n: 2 });
    assert.deepEqual(await next.post('resume', {}), success);
    const resumedMs = await heartbeatMs();
    await next.waitFor(({ canCommit }) => canCommit);
    // Two pieces of work would not agree on whose place it is by their next heartbeats.
    await until('two heartbeats', async () => (await heartbeatMs()) > resumedMs + 10_000);
    await commitAndWait(next);
    assert.doesNotMatch(await next.log(), /SupersededByOtherInstance/);
    await pair.assertEqual();
  });

  it('resets the sync only once nothing that the other one has sent can still arrive', async () => {
    const items = pair.source.client.db('shop').collection('items');
    await items.insertOne({ n: 1 });
    await using former = await pair.syncing();
    const [started, uri] = await proxied();
    await using proxy = started;
    await using next = await pair.syncer({ cluster1: uri.href });
    await next.waitFor(({ canCommit }) => canCommit);
    proxy.strandAt((bytes) => bytes.includes('late'));
    await items.insertOne({ text: 'late' });
    await until('its write is held', () => proxy.stranded > 0);
    await next.kill();
    assert.deepEqual(await former.post('reset', { destination: 'Clean' }), success);
    const isWaiting = /a server has not completed [1-9]\d* earlier connections/;
    const { warnings } = await former.waitFor(
      ({ state, warnings: told }) => state === 'IDLE' || isWaiting.test(String(told)),
    );
    assert.match(String(warnings), isWaiting);
    proxy.release();
    await former.waitFor(({ state }) => state === 'IDLE');
    assert.deepEqual(await namespacesOf(pair.destination), []);
  });

  it('leaves the rest of a reset to the process that has taken its place in the meantime', async () => {
    await pair.source.client.db('shop').collection('items').insertOne({ n: 1 });
    await using former = await pair.syncing();
    const own = await holder();
    await using other = await pair.syncer();
    await until('the other one has taken the place', async () => (await holder()) !== own);
    assert.deepEqual(await former.post('reset', { destination: 'Clean' }), success);
    const isWaiting = ({ warnings }: SyncerProgress): boolean =>
      String(warnings).includes('earlier connections');
    await former.waitFor(isWaiting);
    assert.ok(other.pid, 'its connections are open');
    await using next = await pair.syncer();
    for (const syncer of [former, next]) await syncer.waitFor(({ state }) => state === 'IDLE');
    const logs = await Promise.all([former.log(), next.log()]);
    const ends = logs.map((log) => log.split('"msg":"reset"').length - 1);
    assert.deepEqual(ends, [0, 1], 'how often each has removed the state');
    assert.deepEqual(await namespacesOf(pair.destination), []);
  });

  it('takes limits while it claims its place again, if no other process has taken it', async () => {
    await pair.source.client.db('shop').collection('items').insertOne({ n: 1 });
    const [started, cluster1] = await proxiedAndPolled();
    await using proxy = started;
    await using syncer = await pair.syncing({}, { cluster1 });
    assert.deepEqual(await syncer.post('pause', {}), success);
    // As after a minute without commands: on new connections the process asks whether it still has its place.
    proxy.cut();
    let isClaiming = false;
    proxy.strandAt((bytes) => {
      if (commandKind(bytes) === 'findAndModify of the state' && bytes.includes('claims')) {
        isClaiming = true;
        proxy.slow(1_500);
      }
      return false;
    });
    assert.deepEqual(await syncer.post('resume', {}), success);
    await until('it claims its place', () => isClaiming);
    const limited = await syncer.post('limits', { maxCopyDocumentsPerSecond: 200 });
    assert.deepEqual(limited, success);
    proxy.slow(0);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });
});
