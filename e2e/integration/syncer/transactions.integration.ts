import assert from 'node:assert/strict';
import { Long, MongoClient, type ClientSession, type Collection, type Document } from 'mongodb';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, namespacesOf, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, holdCommands, slowCommands } from './slow-commands.ts';

interface Account {
  readonly _id: number;
  readonly balance?: number;
  readonly filler?: string;
}

const filler = 'f'.repeat(1_000_000);

describe('transactions and retried writes of the source', () => {
  // Every transaction takes several entries of the oplog.
  const parameters = {
    ...canBeSlow,
    maxNumberOfTransactionOperationsInSingleOplogEntry: 2,
    // Some are open over whole phases of a sync.
    transactionLifetimeLimitSeconds: 3600,
  };
  const pair = useClusterPair({ parameters });
  beforeEach(async () => {
    await pair.reset();
  });

  const left = (client = pair.source.client): Collection<Account> =>
    client.db('bank').collection('left');
  const right = (client = pair.source.client): Collection<Account> =>
    client.db('bank').collection('right');

  /** Begins a transaction that writes to two collections; the caller ends it. */
  const begin = async (_id: number, client = pair.source.client): Promise<ClientSession> => {
    const session = client.startSession();
    session.startTransaction();
    await left(client).insertOne({ _id, balance: -_id }, { session });
    await right(client).insertOne({ _id, balance: _id }, { session });
    await left(client).updateOne({ _id: 0 }, { $inc: { balance: 1 } }, { session });
    return session;
  };

  it('open while the sync starts, and committed during the copy, the changes, or never', async () => {
    await left().insertMany([{ _id: 0 }, { _id: -1 }]);
    await right().insertMany([{ _id: 0 }, { _id: -1 }]);
    await using syncer = await pair.syncer();
    const held = await holdCommands(pair.destination, 'insert');
    await using duringCopy = await begin(1);
    await syncer.start(forward);
    await held.reached(2);
    await duringCopy.commitTransaction();
    await using aborted = await begin(2);
    await aborted.abortTransaction();
    await using duringChanges = await begin(3);
    await held[Symbol.asyncDispose]();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await duringChanges.commitTransaction();
    await using open = await begin(4);
    await commitAndWait(syncer);
    await pair.assertEqual();
    assert.deepEqual(await idsOf(pair.destination.client, 'right'), [-1, 0, 1, 3]);
    await open.abortTransaction();
  });

  it('prepared before the sync starts, and committed during it', async () => {
    await left().insertOne({ _id: 0 });
    await right().insertOne({ _id: 0 });
    // Only servers prepare transactions: of sharded clusters, or where tests ask for it.
    const grant = { grantRolesToUser: 'app', roles: [{ role: '__system', db: 'admin' }] };
    await pair.source.client.db('admin').command(grant);
    await using client = new MongoClient(pair.source.set.uri('app'));
    const admin = client.db('admin');
    await using session = await begin(1, client);
    const { prepareTimestamp } = await admin.command(
      { prepareTransaction: 1, writeConcern: { w: 'majority' } },
      { session },
    );
    await using syncer = await pair.syncer();
    await syncer.start(forward);
    // The copy reads after a time that is later than the prepared one, and waits for what becomes of the transaction.
    await until('a read that waits', async () => {
      const waiting = {
        prepareReadConflicts: { $gt: 0 },
        'command.find': { $in: ['left', 'right'] },
      };
      const operations = pair.source.client
        .db('admin')
        .aggregate([{ $currentOp: { allUsers: true } }, { $match: waiting }]);
      return (await operations.toArray()).length > 0;
    });
    const commitTimestamp = prepareTimestamp as unknown;
    await admin.command({ commitTransaction: 1, commitTimestamp }, { session });
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
    assert.deepEqual(await idsOf(pair.destination.client, 'left'), [0, 1]);
    await session.abortTransaction().catch(() => undefined);
  });

  it('committed while the commit is called: the destination has each wholly or not at all', async () => {
    await left().insertOne({ _id: 0 });
    await right().insertOne({ _id: 0 });
    await using syncer = await pair.syncing();
    const stop = new AbortController();
    const writers = [1, 2, 3].map(async (writer) => {
      for (let n = 1; !stop.signal.aborted; n++) {
        const _id = writer * 1_000_000 + n;
        await pair.source.client.withSession(async (session) => {
          await session.withTransaction(async () => {
            await left().insertOne({ _id }, { session });
            await right().insertOne({ _id }, { session });
            await left().updateOne({ _id }, { $set: { balance: n } }, { session });
            await right().updateOne({ _id }, { $set: { balance: n } }, { session });
          });
        });
      }
    });
    try {
      await syncer.waitFor(({ totalEventsApplied }) => (totalEventsApplied ?? 0) > 240);
      await commitAndWait(syncer);
    } finally {
      stop.abort();
      await Promise.all(writers);
    }
    const ids = await idsOf(pair.destination.client, 'left');
    assert.ok(ids.length > 50);
    assert.ok(ids.length < (await left().countDocuments()), 'writers went on after the commit');
    assert.deepEqual(await idsOf(pair.destination.client, 'right'), ids);
    const unfinished = { balance: { $exists: false }, _id: { $gt: 0 } };
    for (const copies of [left(pair.destination.client), right(pair.destination.client)])
      assert.equal(await copies.countDocuments(unfinished), 0);
  });

  /** Runs a transaction on the source that creates a collection and writes to it and another one. */
  const createAndWrite = async (_id: number): Promise<void> => {
    await pair.source.client.withSession(async (session) => {
      await session.withTransaction(async () => {
        const bank = pair.source.client.db('bank');
        await bank.createCollection('created', { session });
        await bank.collection<Account>('created').insertOne({ _id }, { session });
        await left().insertOne({ _id }, { session });
      });
    });
  };

  it('committed after the time of the commit, and read together with what is before it: not on the destination', async () => {
    await left().insertOne({ _id: 0 });
    await using syncer = await pair.syncing();
    await using held = await holdCommands(pair.source, 'getMore');
    await held.reached(1);
    await left().insertOne({ _id: 1 });
    await syncer.commit();
    await createAndWrite(2);
    await held[Symbol.asyncDispose]();
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    assert.deepEqual(await namespacesOf(pair.destination), ['bank.left']);
    assert.deepEqual(await idsOf(pair.destination.client, 'left'), [0, 1]);
  });

  it('committed before the time of the commit, and read together with it: on the destination, with all around it', async () => {
    await left().insertOne({ _id: 0 });
    await using syncer = await pair.syncing();
    await using held = await holdCommands(pair.source, 'getMore');
    await held.reached(1);
    await left().insertOne({ _id: 1 });
    await createAndWrite(2);
    await left().insertOne({ _id: 3 });
    await syncer.commit();
    await held[Symbol.asyncDispose]();
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    assert.deepEqual(await idsOf(pair.destination.client, 'created'), [2]);
    assert.deepEqual(await idsOf(pair.destination.client, 'left'), [0, 1, 2, 3]);
    await pair.assertEqual();
  });

  it('committed after the time of the commit, and larger than one fetch: not on the destination', async () => {
    await left().insertOne({ _id: 0 });
    await right().insertOne({ _id: 0 });
    await using syncer = await pair.syncing();
    await using held = await holdCommands(pair.source, 'getMore');
    await held.reached(1);
    await syncer.commit();
    await pair.source.client.withSession(async (session) => {
      await session.withTransaction(async () => {
        for (const accounts of [left(), right()]) {
          const documents = Array.from({ length: 10 }, (_, n) => ({ _id: n + 1, filler }));
          await accounts.insertMany(documents, { session });
        }
      });
    });
    await held[Symbol.asyncDispose]();
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    assert.deepEqual(await idsOf(pair.destination.client, 'left'), [0]);
    assert.deepEqual(await idsOf(pair.destination.client, 'right'), [0]);
  });

  it('committed while the time of the commit is being stored: not on the destination', async () => {
    await left().insertOne({ _id: 0 });
    await using syncer = await pair.syncing();
    // Whatever of it is applied before the time is known comes to its end after that.
    await using held = await holdCommands(pair.destination, 'insert', 'bank.left');
    await using slow = await slowCommands(
      pair.destination,
      ['update'],
      1_000,
      'clustersync_internal.sync',
    );
    const oplog = pair.source.client.db('local').collection('oplog.rs');
    const notes = (): Promise<number> => oplog.countDocuments({ 'o.clustersync': 'commit' });
    const before = await notes();
    const committed = syncer.commit();
    await until('the no-op of the commit', async () => (await notes()) > before);
    await createAndWrite(1);
    await committed;
    await slow[Symbol.asyncDispose]();
    await held[Symbol.asyncDispose]();
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    assert.deepEqual(await namespacesOf(pair.destination), ['bank.left']);
    assert.deepEqual(await idsOf(pair.destination.client, 'left'), [0]);
  });

  it('writes that are sent twice are applied once', async () => {
    const db = pair.source.client.db('bank');
    await left().insertOne({ _id: 1, balance: 1 });
    const commands: Document[] = [
      { insert: 'left', documents: [{ _id: 2 }] },
      { update: 'left', updates: [{ q: { _id: 1 }, u: { $inc: { balance: 1 } } }] },
      { findAndModify: 'left', query: { _id: 1 }, update: { $inc: { balance: 10 } } },
      { findAndModify: 'left', query: { _id: 3 }, update: { balance: 3 }, upsert: true },
      { delete: 'left', deletes: [{ q: { _id: 2 }, limit: 1 }] },
    ];
    await using syncer = await pair.syncing();
    // A client of its own: its sessions are not used again.
    await using client = new MongoClient(pair.source.set.uri('admin'));
    await using session = client.startSession();
    for (const [index, command] of commands.entries())
      for (let attempt = 0; attempt < 2; attempt++)
        await client
          .db(db.databaseName)
          .command({ ...command, txnNumber: Long.fromNumber(100 + index) }, { session });
    await commitAndWait(syncer);
    await pair.assertEqual();
    assert.deepEqual(await left(pair.destination.client).find().sort({ _id: 1 }).toArray(), [
      { _id: 1, balance: 12 },
      { _id: 3, balance: 3 },
    ]);
  });
});

async function idsOf(client: MongoClient, coll: string): Promise<number[]> {
  const documents = await client
    .db('bank')
    .collection<Account>(coll)
    .find({}, { projection: { _id: 1 } })
    .sort({ _id: 1 })
    .toArray();
  return documents.map(({ _id }) => _id);
}
