import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { MongoClient } from 'mongodb';
import { until } from '../until.ts';
import { startReplicaSet, type ReplicaSet } from './replica-set.ts';

describe('startReplicaSet', () => {
  context('with one member', () => {
    let set: ReplicaSet;
    before(async () => {
      set = await startReplicaSet({ members: 1 });
    });
    after(async () => {
      await set.stop();
    });

    it('acknowledges writes with majority concern', async () => {
      await using client = new MongoClient(set.uri('app'));
      const items = client.db('shop').collection('items', { writeConcern: { w: 'majority' } });
      await items.insertOne({ name: 'lamp' });
      const found = items.find({}, { readConcern: { level: 'majority' } });
      assert.equal((await found.toArray()).length, 1);
    });

    it('refuses who has not logged in, and wrong passwords', async () => {
      const { port } = await set.primary();
      await using nobody = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`);
      await assert.rejects(nobody.db('shop').collection('items').findOne(), { code: 13 });
      await using impostor = new MongoClient(
        `mongodb://app:wrong@127.0.0.1:${port}/?directConnection=true`,
      );
      await assert.rejects(impostor.connect(), { code: 18 });
    });

    it('gives the users their rights and no more', async () => {
      await using app = new MongoClient(set.uri('app'));
      await assert.rejects(app.db('admin').command({ serverStatus: 1 }), { code: 13 });
      await using syncer = new MongoClient(set.uri('syncer'));
      await syncer.db('admin').command({ serverStatus: 1 });
      await assert.rejects(syncer.db('admin').command({ shutdown: 1 }), { code: 13 });
    });

    it('blocks the writes of the ordinary user, not those of the syncer', async () => {
      await using app = new MongoClient(set.uri('app'));
      await using syncer = new MongoClient(set.uri('syncer'));
      const block = { setUserWriteBlockMode: 1, global: true };
      await syncer.db('admin').command(block);
      try {
        await assert.rejects(app.db('shop').collection('items').insertOne({}), { code: 371 });
        await syncer.db('shop').collection('items').insertOne({});
      } finally {
        await syncer.db('admin').command({ ...block, global: false });
      }
    });

    it('becomes primary again after stepping down', async () => {
      const [member] = set.members;
      assert.equal(await set.stepDown(), member);
    });

    it('keeps its port and data when it is killed and started again', async () => {
      const [member] = set.members;
      assert.ok(member);
      await using client = new MongoClient(set.uri('app'));
      const kept = client.db('shop').collection('kept');
      await kept.insertOne({ _id: member.port as never }, { writeConcern: { w: 'majority' } });
      const { pid, address } = member;
      await set.kill(member);
      assert.equal(member.pid, undefined);
      await set.restart(member);
      assert.notEqual(member.pid, pid);
      assert.equal(member.address, address);
      assert.equal(await kept.countDocuments(), 1);
    });
  });

  context('with three members', () => {
    let set: ReplicaSet;
    before(async () => {
      set = await startReplicaSet({ members: 3, syncerRoles: 'source' });
    });
    after(async () => {
      await set.stop();
    });

    it('replicates to all, the users too', async () => {
      await using client = new MongoClient(set.uri('app'));
      await client
        .db('shop')
        .collection('items')
        .insertOne({}, { writeConcern: { w: 3 } });
      for (const member of set.members) {
        await using direct = new MongoClient(set.directUri('app', member));
        assert.equal(
          (
            await direct
              .db('shop')
              .collection('items')
              .find({}, { readPreference: 'nearest' })
              .toArray()
          ).length,
          1,
        );
      }
    });

    it('has another primary after a step down', async () => {
      const before = await set.primary();
      const after = await set.stepDown();
      assert.notEqual(after, before);
      assert.equal(await set.primary(), after);
    });

    it('elects another primary when the primary is killed, and takes it back', async () => {
      const killed = await set.primary();
      await set.kill(killed);
      assert.notEqual(await set.primary(), killed);
      await set.restart(killed);
      await using client = new MongoClient(set.uri('app'));
      await client
        .db('shop')
        .collection('items')
        .insertOne({}, { writeConcern: { w: 3 } });
    });
  });

  it('is known under another address', async () => {
    await using set = await startReplicaSet({
      members: 3,
      name: 'other',
      bindIp: ['127.0.0.2'],
      advertisedHost: '127.0.0.2',
    });
    assert.match(
      set.uri('app'),
      /@127\.0\.0\.2:\d+,127\.0\.0\.2:\d+,127\.0\.0\.2:\d+\/\?replicaSet=other$/,
    );
    await using client = new MongoClient(set.uri('app'));
    await client
      .db('shop')
      .collection('items')
      .insertOne({}, { writeConcern: { w: 3 } });
  });

  it('waits for its port when somebody else has it', async () => {
    await using set = await startReplicaSet({ members: 1 });
    const [member] = set.members;
    assert.ok(member);
    await set.kill(member);
    const squatter = createServer().listen(member.port, '127.0.0.1');
    await once(squatter, 'listening');
    const restarting = set.restart(member);
    await until('a try', () =>
      readFileSync(member.logFile, 'utf8').includes('Address already in use'),
    );
    squatter.close();
    await restarting;
    assert.equal(await set.primary(), member);
  });

  it('keeps its users when it is killed as soon as it has started', async () => {
    // Several at once: of those whose users are not yet in the journal, about every fourth lost them.
    const sets = await Promise.all(
      Array.from({ length: 6 }, async () => await startReplicaSet({ members: 1 })),
    );
    await using all = new AsyncDisposableStack();
    for (const set of sets) all.use(set);
    await Promise.all(
      sets.map(async (set) => {
        const [member] = set.members;
        assert.ok(member);
        await set.kill(member);
        await set.restart(member);
        assert.equal(await set.primary(), member);
      }),
    );
  });

  it('fails an abort or a deadline while it waits', async () => {
    await using set = await startReplicaSet({ members: 1 });
    const [member] = set.members;
    assert.ok(member);
    await set.kill(member);
    await assert.rejects(set.primary({ deadlineMs: 100 }), { name: 'TimeoutError' });
    const reason = new Error('enough');
    await assert.rejects(set.primary({ signal: AbortSignal.abort(reason) }), reason);
  });

  it('leaves nothing when the start is aborted', async () => {
    const reason = new Error('enough');
    const controller = new AbortController();
    const starting = startReplicaSet({ members: 1, signal: controller.signal });
    controller.abort(reason);
    await assert.rejects(starting, reason);
  });

  it('says what mongod says when it does not start', async () => {
    const starting = startReplicaSet({ members: 1, parameters: { noSuchParameter: 1 } });
    await assert.rejects(starting, /noSuchParameter/);
  });

  it('starts several at the same time', async () => {
    const sets = await Promise.all([
      startReplicaSet({ members: 1 }),
      startReplicaSet({ members: 1 }),
    ]);
    const folders = sets.map(({ members }) => dirname(members[0]?.logFile ?? ''));
    for (const set of sets) await set.stop();
    assert.deepEqual(folders.map(existsSync), [false, false]);
  });
});
