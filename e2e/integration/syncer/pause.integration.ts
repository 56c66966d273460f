import assert from 'node:assert/strict';
import type { Answer, SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import {
  commitAndWait,
  endPreparation,
  forward,
  useClusterPair,
  type Side,
} from './cluster-pair.ts';
import { canBeSlow, holdCommands } from './slow-commands.ts';

const success = { status: 200, body: { success: true } };

describe('pause and resume', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
    const shop = pair.source.client.db('shop');
    for (const name of ['a', 'b', 'c']) await shop.collection(name).insertMany(rows(0, 300));
    await shop.command({
      createIndexes: 'a',
      indexes: [{ key: { n: 1 }, name: 'n', unique: true }],
    });
    await endPreparation(pair.source);
  });

  async function pause(syncer: SyncerProcess): Promise<void> {
    assert.deepEqual(await syncer.post('pause', {}), success);
    const { state, canCommit, lagTimeSeconds, canWrite } = await syncer.progress();
    assert.deepEqual(
      { state, canCommit, lagTimeSeconds, canWrite },
      { state: 'PAUSED', canCommit: false, lagTimeSeconds: null, canWrite: false },
    );
  }

  it('during the copy: nothing continues; a restarted process stays PAUSED; resume copies the rest', async () => {
    await using syncer = await pair.syncer({
      options: { copyWorkers: 1, partitionMebibytes: 0.01 },
    });
    {
      // Whichever collection comes first, a partition is copied by then.
      await using held = await holdCommands(pair.destination, 'insert', 'shop.a', 2);
      await syncer.start({ ...forward, enableUserWriteBlocking: true });
      await until('a copied partition', async () =>
        (await syncer.log()).includes('"msg":"partition copied"'),
      );
      await held.reached(1);
      await pause(syncer);
    }
    // The server continues a write whose client is gone.
    await until('the insert is over', async () => (await inserts(pair.destination)).length === 0);
    const info = (await syncer.progress()).info;
    assert.equal(info, 'collection copy');
    const before = await countAll(pair.destination);
    assert.ok(before < 900, 'the copy was not through');
    // The pause waits for their ends, but not long for a busy server.
    await untilNoCursor(pair.source);
    await pair.source.client.db('shop').collection('b').insertMany(rows(300, 50));

    await syncer.kill();
    await syncer.restart();
    const progress = await syncer.progress();
    assert.equal(progress.state, 'PAUSED');
    assert.equal(progress.lagTimeSeconds, null);
    assert.equal(progress.coordinatorID, 'syncer');
    assert.equal(await blockMode(pair.destination), 2, 'write blocking stays');
    assert.deepEqual(progress.warnings, ['writes by ordinary users are blocked on cluster1']);
    assert.equal(await countAll(pair.destination), before);

    assert.deepEqual(await syncer.post('resume', {}), success);
    assert.equal((await syncer.progress()).state, 'RUNNING');
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('during change application: the checkpoint covers what was applied, and resume continues from there', async () => {
    await using syncer = await pair.syncing();
    const items = pair.source.client.db('shop').collection('a');
    await items.insertMany(rows(300, 200));
    await syncer.waitFor(({ totalEventsApplied }) => (totalEventsApplied ?? 0) >= 200);
    await pause(syncer);
    await untilNoCursor(pair.source);
    await items.deleteMany({ n: { $lt: 100 } });
    await items.updateMany({ n: { $gt: 400 } }, { $set: { later: true } });
    const copies = pair.destination.client.db('shop').collection('a');
    assert.equal(await copies.countDocuments(), 500);
    assert.equal((await syncer.progress()).info, 'change event application');

    await syncer.kill('SIGTERM');
    assert.equal(syncer.exitCode, 0);
    await syncer.restart();
    assert.equal((await syncer.progress()).state, 'PAUSED');
    assert.equal((await syncer.progress()).totalEventsApplied, 200);
    assert.deepEqual(await syncer.post('resume', {}), success);
    await syncer.waitFor(({ totalEventsApplied }) => (totalEventsApplied ?? 0) >= 399);
    // None was applied twice: the pause has stored a checkpoint.
    assert.equal((await syncer.progress()).totalEventsApplied, 399);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('keeps a commit from being possible from when it is given: the commit would be refused', async () => {
    await using syncer = await pair.syncing();
    let paused: Promise<Answer>;
    let committed: Promise<Answer>;
    {
      await using held = await holdCommands(pair.destination, 'insert', 'shop.a');
      await pair.source.client.db('shop').collection('a').insertOne({ n: 1_000 });
      await held.reached(1);
      paused = syncer.post('pause', {});
      // It waits for what is being applied.
      const told = 'commit: not possible now: pause is being carried out';
      await syncer.waitFor(({ canCommit, warnings }) => !canCommit && warnings?.join() === told);
      committed = syncer.post('commit', {});
    }
    assert.deepEqual(await paused, success);
    assert.equal((await committed).body['error'], 'InvalidStateTransition');
    assert.equal((await syncer.progress()).state, 'PAUSED');
  });

  it('again and again while a writer writes, killed at times: nothing is lost', async () => {
    await using syncer = await pair.syncer();
    const writing = new AbortController();
    const written = write(writing.signal);
    try {
      await syncer.start(forward);
      for (let round = 0; round < 6; round++) {
        await pause(syncer);
        if (round % 3 === 1) {
          await syncer.kill();
          await syncer.restart();
        }
        assert.deepEqual(await syncer.post('resume', {}), success);
        if (round > 2) await syncer.waitFor(({ canCommit }) => canCommit);
      }
    } finally {
      writing.abort();
      await written;
    }
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  async function write(signal: AbortSignal): Promise<void> {
    const shop = pair.source.client.db('shop');
    for (let n = 1000; !signal.aborted; n++) {
      await shop.collection('a').insertOne({ n });
      await shop.collection('b').updateOne({ n: n % 300 }, { $inc: { times: 1 } });
      await shop.collection('c').deleteOne({ n: n - 1000 });
      if (n % 20 === 0) await shop.collection(`made_${n}`).insertOne({ n });
    }
  }
});

function rows(from: number, count: number): { n: number; text: string }[] {
  return Array.from({ length: count }, (_, index) => ({ n: from + index, text: 'x'.repeat(100) }));
}

async function countAll({ client }: Side): Promise<number> {
  const counts = await Promise.all(
    ['a', 'b', 'c'].map(async (name) => await client.db('shop').collection(name).countDocuments()),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** What the server holds open for the syncer. */
async function openCursors({ client }: Side): Promise<unknown[]> {
  const found = client
    .db('admin')
    .aggregate([
      { $currentOp: { allUsers: true, idleCursors: true } },
      { $match: { type: 'idleCursor', appName: 'clustersync syncer syncer' } },
    ]);
  return await found.toArray();
}

/** Waits until the server holds no cursor open for the syncer: one that is left lives for minutes. */
async function untilNoCursor(side: Side): Promise<void> {
  await until('no cursor is open', async () => (await openCursors(side)).length === 0);
}

/** What the server is inserting for the syncer. */
async function inserts({ client }: Side): Promise<unknown[]> {
  const found = client
    .db('admin')
    .aggregate([
      { $currentOp: { allUsers: true } },
      { $match: { op: 'insert', appName: 'clustersync syncer syncer' } },
    ]);
  return await found.toArray();
}

async function blockMode({ client }: Side): Promise<unknown> {
  const status = await client.db('admin').command({ serverStatus: 1 });
  return (status['repl'] as { userWriteBlockMode: unknown }).userWriteBlockMode;
}
