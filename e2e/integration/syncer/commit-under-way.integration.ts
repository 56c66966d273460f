import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { assertEqualClusters } from '../../ground/compare.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { startReplicaSet, type Member, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import {
  startSyncerProcess,
  type Answer,
  type SyncerProcess,
  type SyncerProgress,
} from '../../ground/syncer-process.ts';
import { freezeProcess } from '../../ground/freeze-process.ts';
import { until } from '../../ground/until.ts';
import { commandKind } from './command-kind.ts';
import { commitAndWait, startSyncing } from './cluster-pair.ts';
import { skipUnlessReversible } from './skip-reversal.ts';

const cannotBeTakenBack = /commit.* was sent to the store.* cannot be undone/;

describe('a commit whose record waits for a majority', function () {
  this.timeout(600_000);
  let source: ReplicaSet;
  let destination: ProxiedReplicaSet;
  let client: MongoClient;
  let secondary: Member;

  beforeEach(async () => {
    [source, destination] = await Promise.all([
      startReplicaSet({ members: 1, name: 'source' }),
      startProxiedReplicaSet({ members: 3, hasArbiter: true, name: 'destination' }),
    ]);
    client = new MongoClient(source.uri('admin'));
    await items().insertMany(Array.from({ length: 100 }, (_, n) => ({ n })));
    secondary = await secondaryOf(destination.set);
  });

  afterEach(async () => {
    await client.close();
    await destination[Symbol.asyncDispose]();
    await source.stop();
  });

  function items() {
    return client.db('shop').collection('items');
  }

  async function syncing(body: object = {}): Promise<SyncerProcess> {
    const syncer = await startSyncerProcess({
      cluster0: source.uri('syncer'),
      cluster1: destination.set.uri('syncer'),
      until: 'listening',
    });
    await syncer.waitFor(({ state }) => state === 'IDLE');
    return await startSyncing(syncer, body);
  }

  /** Freezes the secondary when a command is on its way to the primary, which takes it, and cannot pass it on. */
  function freezeAtCommand(text = 'COMMITTING'): { readonly isFrozen: () => boolean } {
    let isFrozen = false;
    for (const proxy of destination.proxies) {
      proxy.strandAt((bytes) => {
        const isCommand = commandKind(bytes) === 'update of the state' && bytes.includes(text);
        if (isCommand && !isFrozen) {
          isFrozen = true;
          freezeProcess(secondary.pid ?? NaN);
        }
        return false;
      });
    }
    return { isFrozen: () => isFrozen };
  }

  async function assertNothingLost(documents: number): Promise<void> {
    await using copy = new MongoClient(destination.set.uri('admin'));
    assert.equal(await items().countDocuments(), documents);
    assert.equal(await copy.db('shop').collection('items').countDocuments(), documents);
    await assertEqualClusters(source.uri('admin'), destination.set.uri('admin'));
  }

  it('is told of by every answer from when it was sent, a restart between, until it is carried out', async () => {
    await using syncer = await syncing();
    const { isFrozen } = freezeAtCommand();
    const answered = syncer.post('commit', {}).catch((error: unknown) => String(error));
    await until('the commit is on its way', isFrozen);

    const told: SyncerProgress[] = [];
    await until('the wait has lasted for longer than a proof counts', async () => {
      const progress = await syncer.progress();
      told.push(progress);
      return progress.warnings?.some((text) => / ([5-9]|\d{2,}) s ago/.test(text)) === true;
    });
    assert.ok(told.length > 10, String(told.length));
    for (const { state, canCommit, commitUnderWay, warnings } of told) {
      assert.deepEqual(
        { state, canCommit, commitUnderWay },
        { state: 'RUNNING', canCommit: false, commitUnderWay: true },
      );
      assert.match(warnings?.join() ?? '', cannotBeTakenBack);
    }
    // What is written before the commit is carried out belongs to it, however long ago it was asked for.
    await items().insertMany(Array.from({ length: 50 }, (_, n) => ({ n: 100 + n })));

    await syncer.kill();
    await answered;
    await syncer.restart();
    const answers: Answer[] = [];
    await until('the next process has found the commit, and said so', async () => {
      answers.push(await syncer.getProgress());
      const sayingSo = answers.filter(({ body }) => cannotBeTakenBack.test(String(body['error'])));
      return sayingSo.length >= 5;
    });
    for (const { status, body } of answers)
      assert.match(String(body['error']), /^NotStarted/, `${status} ${JSON.stringify(body)}`);

    await secondaryGoesOn();
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    await assertNothingLost(150);
  });

  it('is carried out by the process that was given it, and answered, when a majority is back', async () => {
    await using syncer = await syncing();
    const { isFrozen } = freezeAtCommand();
    const answered = syncer.post('commit', {});
    await until('the commit is on its way', isFrozen);
    await syncer.waitFor(({ warnings }) => cannotBeTakenBack.test(warnings?.join() ?? ''));
    await items().insertOne({ n: 100 });
    await secondaryGoesOn();
    assert.deepEqual(await answered, { status: 200, body: { success: true } });
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    await assertNothingLost(101);
  });

  it('is refused, and not begun, where the majority was missing before; nor for a caller that has gone', async () => {
    await using syncer = await syncing();
    await destination.set.kill(secondary, 'SIGSTOP');
    const missing = 'a majority of cluster1 has not acknowledged a write';
    await syncer.waitFor(
      ({ canCommit, warnings }) => !canCommit && warnings?.join().includes(missing) === true,
    );
    const { status, body } = await syncer.post('commit', {});
    assert.deepEqual({ status, error: body['error'] }, { status: 409, error: 'CannotCommitYet' });
    assert.match(String(body['errorDescription']), /a majority of cluster1 has not acknowledged/);

    const caller = new AbortController();
    const abandoned = fetch(`${syncer.url}/api/v1/commit`, {
      method: 'POST',
      body: '{}',
      headers: { 'Content-Type': 'application/json' },
      signal: caller.signal,
    });
    await syncer.waitFor(({ commitUnderWay }) => commitUnderWay === true);
    caller.abort();
    await assert.rejects(abandoned);
    await secondaryGoesOn();
    const after = await syncer.waitFor(
      ({ canCommit, commitUnderWay }) => canCommit && commitUnderWay === false,
    );
    assert.equal(after.state, 'RUNNING');
    await syncer.commit();
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    await assertNothingLost(100);
  });

  /** Each with what is in the write that records it, and the states before and after. */
  const others = [
    ['pause', '$addToSet', 'RUNNING', 'PAUSED'],
    ['resume', '$pull', 'PAUSED', 'RUNNING'],
    ['reverse', 'handover', 'COMMITTED', 'RUNNING'],
  ] as const;
  for (const [command, text, before, after] of others) {
    it(`${command} is told of in the same way, by every answer until it is carried out`, async function () {
      const reversible = command === 'reverse';
      if (reversible) await skipUnlessReversible(this);
      await using syncer = await syncing({ reversible, enableUserWriteBlocking: true });
      if (before === 'PAUSED') assert.equal((await syncer.post('pause', {})).status, 200);
      if (before === 'COMMITTED') await commitAndWait(syncer);
      const { isFrozen } = freezeAtCommand(text);
      const answered = syncer.post(command, {});
      await until(`${command} is on its way`, isFrozen);
      const sent = new RegExp(
        `^${command}: it was sent to the store \\d+ s ago and cannot be undone: waiting until a majority of cluster1 has it$`,
        'm',
      );
      await until('the wait has lasted for longer than a proof counts', async () => {
        const progress = await syncer.progress();
        const told = progress.warnings?.join('\n') ?? '';
        assert.match(told, sent);
        assert.deepEqual([progress.state, progress.canCommit], [before, false]);
        return / ([5-9]|\d{2,}) s ago/.test(told);
      });
      await secondaryGoesOn();
      assert.deepEqual(await answered, { status: 200, body: { success: true } });
      const { state, warnings } = await syncer.progress();
      assert.equal(state, after);
      assert.doesNotMatch(warnings?.join('\n') ?? '', sent);
    });
  }

  async function secondaryGoesOn(): Promise<void> {
    await destination.set.kill(secondary, 'SIGCONT');
  }
});

/** The member with data that is not primary: the last one is the arbiter. */
async function secondaryOf(set: ReplicaSet): Promise<Member> {
  const primary = await set.primary();
  const [secondary] = set.members.slice(0, 2).filter((member) => member !== primary);
  assert.ok(secondary);
  return secondary;
}
