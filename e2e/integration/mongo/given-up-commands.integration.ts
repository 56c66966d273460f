import assert from 'node:assert/strict';
import { MongoClient, type Document, type Timestamp } from 'mongodb';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import { RawCursor } from '../../../mongo/raw-cursor.ts';
import { runCommand } from '../../../mongo/run-command.ts';
import { setWriteBlocking } from '../../../syncer/destination/write-blocking.ts';
import { emptyCluster } from '../../ground/mongod/empty-cluster.ts';
import { startReplicaSet, type Member, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { startSyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { forward } from '../syncer/cluster-pair.ts';
import { skipUnlessOtherWay } from '../syncer/skip-reversal.ts';
import { openSession } from '../verifier/verifier-session.ts';

describe('commands that are given up while no majority takes part', () => {
  const appName = 'given up';
  let source: ReplicaSet;
  let destination: ReplicaSet;
  let admin: MongoClient;
  let primary: Member;
  let cluster: ClusterClient;

  before(async () => {
    const parameters = { enableTestCommands: 1 };
    [source, destination] = await Promise.all([
      startReplicaSet({ name: 'source', members: 3, parameters }),
      startReplicaSet({ name: 'destination', members: 1 }),
    ]);
    primary = await source.primary();
    admin = new MongoClient(source.directUri('admin', primary), {
      readConcern: { level: 'local' },
      writeConcern: { w: 1 },
    });
    cluster = createClusterClient({ uri: source.uri('syncer'), option: 'cluster0', appName });
    await admin
      .db('shop')
      .collection('items')
      .insertOne({}, { writeConcern: { w: 'majority' } });
  });
  afterEach(async () => {
    await setReplication('off');
  });
  after(async () => {
    await cluster[Symbol.asyncDispose]();
    await admin.close();
    await Promise.all([source.stop(), destination.stop()]);
  });

  const note = { appendOplogNote: 1, data: {}, writeConcern: { w: 'majority' } };
  for (const [what, db, commandAt] of [
    ['a write that waits for a majority', 'admin', () => note],
    [
      'a read after a cluster time',
      'shop',
      (time: Timestamp) => ({
        find: 'items',
        readConcern: { level: 'majority', afterClusterTime: time },
      }),
    ],
  ] as const) {
    it(`${what} has ended on the server before the next one is sent`, async () => {
      const time = await stopReplication();
      let rounds = 0;
      for (; rounds < 4; rounds++) {
        const { signal } = new AbortController();
        await assert.rejects(
          runCommand(cluster.decoded.db(db), commandAt(time), { signal, deadlineMs: 2_000 }),
          { name: 'ClusterUnreachable' },
        );
        await until('it has ended', async () => (await waiting(appName)).length === 0);
      }
      assert.equal(rounds, 4);
    });
  }

  it('a change of write blocking ends on the server', async () => {
    await stopReplication();
    const { signal } = new AbortController();
    const deadlineMs = 2_000;
    const block = { setUserWriteBlockMode: 1, global: true };
    for (let round = 0; round < 3; round++) {
      await assert.rejects(runCommand(cluster.admin, block, { signal, deadlineMs }), {
        name: 'ClusterUnreachable',
      });
      await until('it has ended', async () => (await waiting(appName)).length === 0);
    }
    await setReplication('off');
    await setWriteBlocking(cluster, false, signal);
  });

  for (const readPreference of ['primary', 'secondary'] as const)
    it(`a cursor that is given up has ended on the ${readPreference} that it was sent to`, async () => {
      const afterClusterTime = await stopReplication();
      await secondariesHaveHeardOf(afterClusterTime);
      const stop = new AbortController();
      const opening = RawCursor.open(
        cluster.raw,
        'shop',
        { find: 'items', readConcern: { level: 'majority', afterClusterTime } },
        { signal: stop.signal, readPreference },
      );
      const others = source.members.filter((member) => member !== primary);
      const members = readPreference === 'primary' ? [primary] : others;
      await until('the server works on it', async () => (await waitingOn(members)).length === 1);
      stop.abort(new Error('given up'));
      await assert.rejects(opening, /given up/);
      await until('the server has ended it', async () => (await waitingOn(members)).length === 0);
    });

  it('a sync has one of each kind under way at a time, for as long as that lasts', async () => {
    await using syncer = await startSyncerProcess({
      cluster0: source.uri('syncer'),
      cluster1: destination.uri('syncer'),
    });
    await syncer.start(forward);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await stopReplication();
    const notesBefore = await countNotes();
    const most = new Map<string, number>();
    await until('the sync has sent its third no-op', async () => {
      const kinds = Map.groupBy(await waiting(/^clustersync syncer/), (kind) => kind);
      for (const [kind, { length }] of kinds) most.set(kind, Math.max(length, most.get(kind) ?? 0));
      return (await countNotes()) - notesBefore >= 3;
    });
    assert.equal(most.get('appendOplogNote'), 1);
    assert.deepEqual(
      [...most].filter(([, count]) => count > 1),
      [],
    );
    await setReplication('off');
    await syncer.waitFor(({ warnings }) => warnings?.length === 0);
  });

  it('a verifier asks one thing of each kind of its metadata store at a time', async () => {
    const [srcURI, destURI] = [source.uri('syncer'), destination.uri('syncer')];
    await using session = await openSession({ srcURI, destURI, metaURI: source.uri('admin') });
    await stopReplication();
    try {
      const answers = await Promise.all(
        [1, 2, 3].flatMap(() => [session.post('check'), session.post('writesOff')]),
      );
      assert.deepEqual(
        answers.map(({ body }) => body['error']),
        Array.from({ length: 6 }, () => 'ClusterUnreachable'),
      );
      // Of each command the first one, which waits until a majority has what it wrote.
      assert.deepEqual(await waiting('clustersync verifier'), ['update', 'update']);
    } finally {
      // Without a majority, the verifier does not come to its end.
      await setReplication('off');
    }
    await until(
      'they have ended',
      async () => (await waiting('clustersync verifier')).length === 0,
    );
    assert.deepEqual((await session.post('check')).body, { success: true });
  });

  it('a verification says that the stream of its source waits', async () => {
    const [srcURI, destURI] = [source.uri('syncer'), destination.uri('syncer')];
    await using session = await openSession({ srcURI, destURI });
    await session.post('check');
    await until('all is compared', async () => {
      const { lastPass } = await session.progress();
      return lastPass !== null;
    });
    await stopReplication();
    await session.post('writesOff');
    const text = /^change stream of the source: waiting for \d+ s: it has not reached the end of /;
    await until('it says so', async () => {
      const { warnings, verdict } = await session.progress();
      assert.equal(verdict, null);
      return warnings.some((warning) => text.test(warning));
    });
    await setReplication('off');
    const { verdict, warnings } = await session.untilComplete();
    assert.notEqual(verdict, null);
    assert.deepEqual(
      warnings.filter((warning) => text.test(warning)),
      [],
    );
  });

  it('a sync has one of each kind under way on its destination, too', async function () {
    await skipUnlessOtherWay(this);
    await using other = new MongoClient(destination.uri('admin'));
    for (const client of [admin, other]) await emptyCluster(client);
    await other.db('shop').collection('items').insertOne({});
    await using syncer = await startSyncerProcess({
      cluster0: destination.uri('syncer'),
      cluster1: source.uri('syncer'),
    });
    await syncer.start(forward);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await stopReplication();
    const most = new Map<string, number>();
    // Longer than a short command takes before it is given up, and sent again.
    await until('a majority has been missing for 20 s', async () => {
      const kinds = Map.groupBy(await waiting(/^clustersync syncer/), (kind) => kind);
      for (const [kind, { length }] of kinds) most.set(kind, Math.max(length, most.get(kind) ?? 0));
      const { body } = await syncer.getProgress();
      const { warnings } = body['progress'] as { readonly warnings: readonly string[] };
      return warnings.some((warning) =>
        /not acknowledged a write for ([2-9]\d|\d{3,}) s/.test(warning),
      );
    });
    assert.equal(most.get('appendOplogNote'), 1);
    assert.deepEqual(
      [...most].filter(([, count]) => count > 1),
      [],
    );
    await setReplication('off');
    await syncer.waitFor(({ canCommit }) => canCommit);
  });

  /** Lets no secondary fetch what the primary writes. @returns the time of a write that none of them has. */
  async function stopReplication(): Promise<Timestamp> {
    await setReplication('alwaysOn');
    await until('no secondary has the latest write', async () => {
      await admin.db('shop').collection('items').insertOne({});
      const { last, majority } = await times();
      return last.greaterThan(majority);
    });
    return (await times()).last;
  }

  /** From the heartbeats. A read after any later time is refused. */
  async function secondariesHaveHeardOf(time: Timestamp): Promise<void> {
    for (const member of source.members.filter((other) => other !== primary)) {
      await using client = new MongoClient(source.directUri('admin', member));
      await until('it has heard of the time', async () => {
        const { $clusterTime } = (await client.db('admin').command({ hello: 1 })) as {
          $clusterTime: { clusterTime: Timestamp };
        };
        return $clusterTime.clusterTime.greaterThanOrEqual(time);
      });
    }
  }

  async function times(): Promise<{ readonly last: Timestamp; readonly majority: Timestamp }> {
    const { lastWrite } = (await admin.db('admin').command({ hello: 1 })) as {
      lastWrite: Record<'opTime' | 'majorityOpTime', { ts: Timestamp }>;
    };
    return { last: lastWrite.opTime.ts, majority: lastWrite.majorityOpTime.ts };
  }

  async function setReplication(mode: 'alwaysOn' | 'off'): Promise<void> {
    for (const member of source.members.filter((other) => other !== primary)) {
      await using client = new MongoClient(source.directUri('admin', member));
      await client.db('admin').command({ configureFailPoint: 'stopReplProducer', mode });
    }
  }

  /** What these members have worked on for a while for the cursors. */
  async function waitingOn(members: readonly Member[]): Promise<string[]> {
    const found: string[] = [];
    for (const member of members) {
      await using client = new MongoClient(source.directUri('admin', member));
      found.push(...(await waiting(appName, client)));
    }
    return found;
  }

  /** The commands that a member has worked on for a while, by their names, without those that wait for news. */
  async function waiting(app: string | RegExp, client = admin): Promise<string[]> {
    const found = await client
      .db('admin')
      .aggregate([
        { $currentOp: { allUsers: true } },
        { $match: { appName: app, active: true, microsecs_running: { $gt: 1_000_000 } } },
      ])
      .toArray();
    const names = found.map(({ command }) => Object.keys(command as Document)[0] ?? '');
    return names.filter((name) => !['hello', 'isMaster', 'getMore'].includes(name));
  }

  async function countNotes(): Promise<number> {
    const oplog = admin.db('local').collection('oplog.rs');
    return await oplog.countDocuments({ 'o.clustersync': 'lag' });
  }
});
