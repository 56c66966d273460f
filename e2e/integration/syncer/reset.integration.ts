import assert from 'node:assert/strict';
import { optionsDigest } from '../../../sync-api/options-digest.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { shareOfDay } from '../../ground/workload/chosen-seeds.ts';
import {
  commitAndWait,
  forward,
  namespacesOf,
  useClusterPair,
  type ClusterPair,
} from './cluster-pair.ts';
import { otherSync } from './other-sync.ts';
import { assertNothingStored, inLog, isBlocked } from './reset-outcome.ts';
import { skipUnlessReversible } from './skip-reversal.ts';
import { canBeSlow, slowCommands } from './slow-commands.ts';

/** Users write to the database `probe` to find out whether they can. */
const notProbing = { ...forward, excludeNamespaces: [{ database: 'probe' }] };

type Destination = 'Keep' | 'Unblock' | 'Clean';
const destinations: readonly Destination[] = ['Keep', 'Unblock', 'Clean'];

/** What the sync makes on the destination, and what users have made there beside it. */
const made = ['logs.lines', 'shop.big', 'shop.items', 'shop.orders'];
const ofUsers = ['mine.notes', 'shop.mine'];

/** A moment of a sync at which it is reset. */
interface Moment {
  /** Which commands on the destination take longer, so that the moment does not pass by. */
  readonly slow?: readonly string[];
  readonly slowMs?: number;
  readonly reach: (syncer: SyncerProcess, pair: ClusterPair) => Promise<unknown>;
  /** Whether users are kept from writing to the source at that moment. */
  readonly isSourceBlocked?: true;
}

const changes = async (syncer: SyncerProcess): Promise<void> => {
  await syncer.waitFor(({ canCommit }) => canCommit);
};

const moments: Readonly<Record<string, Moment>> = {
  'while collections are created': {
    slow: ['create', 'createIndexes'],
    reach: async (syncer) => {
      await inLog(syncer, '"phase":"catalog"');
    },
  },
  'during the copy': {
    slow: ['insert'],
    reach: async (syncer) => {
      await syncer.waitFor(({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 0);
    },
  },
  'while changes are applied': { reach: changes },
  'when it is paused': {
    reach: async (syncer) => {
      await changes(syncer);
      assert.equal((await syncer.post('pause', {})).status, 200);
    },
  },
  'when it has failed': {
    reach: async (syncer, { source }) => {
      await changes(syncer);
      await source.client.db('shop').createCollection('times', { timeseries: { timeField: 't' } });
      await until('failed', async () => (await syncer.getProgress()).status !== 200);
    },
  },
  'during the commit, before users may write': {
    slow: ['collMod'],
    slowMs: 4_000,
    reach: async (syncer) => {
      await changes(syncer);
      await syncer.commit();
      await inLog(syncer, '"phase":"restoring"');
    },
    isSourceBlocked: true,
  },
};

describe('reset: the end of a sync for good', () => {
  const pair = useClusterPair({
    parameters: canBeSlow,
    roles: { source: 'sourceWithWriteBlocking', destination: 'sourceWithWriteBlocking' },
  });

  beforeEach(async () => {
    await pair.reset();
    const shop = pair.source.client.db('shop');
    const rows = Array.from({ length: 400 }, (_, n) => ({ n, text: 'x'.repeat(200) }));
    await shop.collection('items').insertMany(rows);
    await shop.collection('orders').insertMany(rows.slice(0, 50));
    const indexes = [{ key: { n: 1 }, name: 'n', unique: true }];
    await shop.command({ createIndexes: 'orders', indexes });
    await shop.createCollection('big', { viewOn: 'items', pipeline: [{ $match: { n: 1 } }] });
    const capped = { capped: true, size: 4096 };
    await pair.source.client.db('logs').createCollection('lines', capped);
  });

  async function started(body: object = { enableUserWriteBlocking: true }): Promise<SyncerProcess> {
    const syncer = await pair.syncer({ options: { partitionMebibytes: 0.02, copyWorkers: 2 } });
    await syncer.start({ ...notProbing, ...body });
    return syncer;
  }

  /** What users make beside it, who may write all the same; and what is not there to be found before. */
  async function makeOfUsers(): Promise<void> {
    const { client } = pair.destination;
    await client.db('mine').collection('notes').insertOne({ by: 'user' });
    await client.db('shop').collection('mine').insertOne({ by: 'user' });
  }

  async function reset(syncer: SyncerProcess, body: object): Promise<void> {
    const { status, body: answer } = await syncer.post('reset', body);
    assert.equal(status, 200, JSON.stringify(answer));
    await untilIdle(syncer);
  }

  /** A start from nothing copies everything, and commits. */
  async function startAfresh(syncer: SyncerProcess): Promise<void> {
    const { client } = pair.destination;
    for (const db of ['mine', 'shop', 'logs']) await client.db(db).dropDatabase();
    await client.db('admin').command({ setUserWriteBlockMode: 1, global: false });
    await syncer.start(notProbing);
    const { totalEventsApplied, collectionCopy } = await syncer.waitFor(
      ({ canCommit }) => canCommit,
    );
    assert.equal(totalEventsApplied, 0);
    const { estimatedTotalBytes = 0, estimatedCopiedBytes = 0 } = collectionCopy ?? {};
    assert.ok(estimatedTotalBytes > 0 && estimatedCopiedBytes >= estimatedTotalBytes);
    await commitAndWait(syncer);
    await pair.assertEqual();
  }

  for (const [when, { slow = [], slowMs = 100, reach, isSourceBlocked = false }] of Object.entries(
    moments,
  )) {
    for (const destination of destinations) {
      it(`${when}, with ${destination}`, async () => {
        await using slowness = await slowCommands(pair.destination, slow, slowMs);
        await using syncer = await started();
        await reach(syncer, pair);
        await makeOfUsers();
        assert.deepEqual(await blocked(pair), { source: isSourceBlocked, destination: true });
        const before = await namespacesOf(pair.destination);
        await reset(syncer, { destination });
        const left = await namespacesOf(pair.destination);
        if (destination === 'Clean') assert.deepEqual(left, ofUsers);
        else {
          // What was under way may have come to its end.
          const all = [...made, ...ofUsers];
          assert.ok(
            before.every((name) => left.includes(name)),
            String(left),
          );
          assert.ok(
            left.every((name) => all.includes(name)),
            String(left),
          );
        }
        for (const [db, coll] of [
          ['mine', 'notes'],
          ['shop', 'mine'],
        ] as const)
          assert.equal(await pair.destination.client.db(db).collection(coll).countDocuments(), 1);
        assert.deepEqual(
          await blocked(pair),
          destination === 'Keep'
            ? { source: isSourceBlocked, destination: true }
            : { source: false, destination: false },
        );
        await assertNothingStored(pair.destination);
        await slowness[Symbol.asyncDispose]();
        if (when === 'when it has failed')
          await pair.source.client.db('shop').dropCollection('times');
        await pair.source.client.db('admin').command({ setUserWriteBlockMode: 1, global: false });
        await startAfresh(syncer);
      });
    }
  }

  it('is Keep where nothing else is said, changes nothing in IDLE, and takes no other fields', async () => {
    await using syncer = await started({});
    await changes(syncer);
    await reset(syncer, {});
    assert.deepEqual(await namespacesOf(pair.destination), made);
    for (const destination of destinations) await reset(syncer, { destination });
    assert.deepEqual(await namespacesOf(pair.destination), made);
    for (const body of [{ destination: 'clean' }, { destination: 1 }, { other: true }, []]) {
      const { status, body: answer } = await syncer.post('reset', body);
      assert.equal(status, 400);
      assert.ok(['InvalidBody', 'InvalidJSON'].includes(String(answer['error'])));
    }
  });

  it('drops what the sync has made wherever it is by now, and nothing that users put in its place', async () => {
    await using syncer = await started({});
    await changes(syncer);
    await pair.source.client.db('shop').collection('items').rename('goods');
    await pair.source.client.db('shop').createCollection('later');
    for (const coll of ['same', 'changed'])
      await pair.source.client.db('shop').command({ create: coll, viewOn: 'goods', pipeline: [] });
    await pair.source.client.db('shop').dropCollection('big');
    await until('followed', async () => {
      const there = await namespacesOf(pair.destination);
      return ['shop.goods', 'shop.later', 'shop.same', 'shop.changed'].every((name) =>
        there.includes(name),
      );
    });
    const { client } = pair.destination;
    const shop = client.db('shop');
    await shop.dropCollection('orders');
    await shop.collection('orders').insertOne({ by: 'user' });
    await shop.collection('goods').rename('moved');
    await client.db('logs').dropCollection('lines');
    await shop.command({ collMod: 'changed', viewOn: 'goods', pipeline: [{ $limit: 1 }] });
    // As where the process had ended before the UUID of what it made was stored: what has documents is not that.
    await shop.collection('later').insertOne({ by: 'user' });
    const unstored = await client
      .db('clustersync_internal')
      .collection('collections')
      .updateOne({ 'namespace.coll': 'later' }, { $set: { destinationUuid: null } });
    assert.equal(unstored.modifiedCount, 1);
    await reset(syncer, { destination: 'Clean' });
    const left = ['shop.changed', 'shop.later', 'shop.orders'];
    assert.deepEqual(await namespacesOf(pair.destination), left);
    assert.equal(await shop.collection('orders').countDocuments({ by: 'user' }), 1);
  });

  it('of a commit that lets users write: Clean is refused, and the others leave all as it is', async () => {
    for (const destination of ['Keep', 'Unblock'] as const) {
      await pair.destination.client.db('shop').dropDatabase();
      await pair.destination.client.db('logs').dropDatabase();
      await using syncer = await started();
      await changes(syncer);
      await commitAndWait(syncer);
      await pair.destination.client.db('shop').collection('items').insertOne({ by: 'user' });
      const before = await blocked(pair);
      assert.deepEqual(before, { source: true, destination: false });
      const { status, body } = await syncer.post('reset', { destination: 'Clean' });
      assert.deepEqual([status, body['error']], [409, 'CleanNotAllowed']);
      assert.equal((await syncer.progress()).state, 'COMMITTED');
      await reset(syncer, { destination });
      assert.deepEqual(await namespacesOf(pair.destination), made);
      assert.deepEqual(await blocked(pair), before);
      await assertNothingStored(pair.destination);
      await pair.source.client.db('admin').command({ setUserWriteBlockMode: 1, global: false });
    }
  });

  it('of a sync that can be reversed: leaves the record of another sync on the source', async function () {
    await skipUnlessReversible(this);
    await using syncer = await started({ reversible: true, enableUserWriteBlocking: true });
    await changes(syncer);
    const state = pair.source.client.db('clustersync_internal');
    const records = state.collection<{ readonly _id: string }>('sync');
    const other = otherSync({ name: 'cluster0', clusterId: 'another' });
    await records.insertOne(other);
    try {
      await reset(syncer, {});
      await assertNothingStored(pair.destination);
      assert.deepEqual(await records.find().toArray(), [other]);
    } finally {
      await state.dropDatabase();
    }
  });

  it('while it is under way no other command is taken; it can be made to do less, not more', async () => {
    await using syncer = await started();
    await changes(syncer);
    {
      await using slowness = await slowCommands(pair.destination, ['findAndModify'], 4_000);
      assert.equal((await syncer.post('reset', { destination: 'Unblock' })).status, 200);
      await slowness.reached(1);
      const { state, canCommit, info, warnings } = await syncer.progress();
      assert.deepEqual(
        { state, canCommit, info },
        { state: 'PAUSED', canCommit: false, info: null },
      );
      assert.ok(warnings?.some((text) => text.startsWith('the sync is being reset')));
      for (const [command, body, to] of [
        ['start', forward],
        ['start', forward, { digest: optionsDigest(forward) }],
        ['start', notProbing],
        ['preflight', forward],
        ['preflight', notProbing],
        ['resume', {}],
        ['commit', {}],
        ['reset', { destination: 'Clean' }],
      ] as const) {
        const { status, body: answer } = await syncer.post(command, body, to);
        assert.deepEqual([command, status, answer['error']], [command, 409, 'ResetUnderWay']);
      }
      assert.equal((await syncer.post('reset', { destination: 'Keep' })).status, 200);
    }
    await untilIdle(syncer);
    assert.deepEqual(await blocked(pair), { source: false, destination: true });
    assert.deepEqual(await namespacesOf(pair.destination), made);
  });

  it('is finished by the next process, killed at every third step, different ones each day', async () => {
    // All that a reset has the destination do.
    const steps = ['update', 'findAndModify', 'drop', 'delete', 'setUserWriteBlockMode'];
    let isKilled = true;
    let count = 0;
    const turns = [1, 2, 3];
    const own = shareOfDay(turns, 1);
    const every = turns.length / own.length;
    const [first = 1] = own;
    for (let step = first; isKilled; step += every) {
      await pair.destination.client.db('mine').dropDatabase();
      await pair.destination.client.db('shop').dropDatabase();
      await using syncer = await started();
      await changes(syncer);
      await makeOfUsers();
      {
        await using slowness = await slowCommands(pair.destination, steps, 150);
        const idle = new AbortController();
        const answer = syncer.post('reset', { destination: 'Clean' }).catch(() => undefined);
        const ended = answer.then(async (given) => {
          if (given) await untilIdle(syncer, idle.signal).catch(() => undefined);
        });
        isKilled = await Promise.race([
          slowness.reached(step).then(
            () => true,
            () => false,
          ),
          ended.then(() => false),
        ]);
        await syncer.kill();
        idle.abort();
        await ended;
      }
      await syncer.restart();
      const isBegun = await syncer
        .waitFor(({ state, canCommit }) => state === 'IDLE' || canCommit)
        .then(({ state }) => state === 'IDLE');
      // Killed before it was stored, it has not begun.
      if (!isBegun) await reset(syncer, { destination: 'Clean' });
      assert.deepEqual(await namespacesOf(pair.destination), ofUsers, `step ${step}`);
      assert.deepEqual(await blocked(pair), { source: false, destination: false });
      await assertNothingStored(pair.destination);
      if (isKilled) count++;
    }
    assert.ok(count > 10 / every, `killed at ${count} steps`);
  });

  it('is finished when the primary of the destination was killed in the middle', async () => {
    const { set } = pair.destination;
    await using syncer = await started();
    await changes(syncer);
    await makeOfUsers();
    const slowness = await slowCommands(pair.destination, ['drop'], 500);
    assert.equal((await syncer.post('reset', { destination: 'Clean' })).status, 200);
    await slowness.reached(1);
    const primary = await set.primary();
    await set.kill(primary);
    await set.restart(primary);
    await untilIdle(syncer);
    assert.deepEqual(await namespacesOf(pair.destination), ofUsers);
    assert.deepEqual(await blocked(pair), { source: false, destination: false });
    await startAfresh(syncer);
  });
});

async function untilIdle(syncer: SyncerProcess, signal?: AbortSignal): Promise<void> {
  await until('IDLE', async () => {
    signal?.throwIfAborted();
    const { status, body } = await syncer.getProgress();
    if (status !== 200) throw new Error(JSON.stringify(body));
    return (body['progress'] as { readonly state: string }).state === 'IDLE';
  });
}

/** Where an ordinary user cannot write. */
async function blocked(
  pair: ClusterPair,
): Promise<{ readonly source: boolean; readonly destination: boolean }> {
  return { source: await isBlocked(pair.source), destination: await isBlocked(pair.destination) };
}
