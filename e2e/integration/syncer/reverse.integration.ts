import assert from 'node:assert/strict';
import { MongoClient, type Db } from 'mongodb';
import { codeOf } from '../../../mongo/server-errors.ts';
import { userWritesBlocked } from '../../ground/mongod/users.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, indexOf, optionsOf, useClusterPair, type Side } from './cluster-pair.ts';
import { otherSync } from './other-sync.ts';
import { canBeSlow, slowCommands } from './slow-commands.ts';
import { skipUnlessReversible } from './skip-reversal.ts';

const reversible = { reversible: true, enableUserWriteBlocking: true } as const;
const success = { status: 200, body: { success: true } };

describe('reverse', () => {
  before(async function () {
    await skipUnlessReversible(this);
  });

  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
    await prepare(pair.source.client.db('shop'));
  });

  async function reverse(syncer: SyncerProcess): Promise<void> {
    assert.deepEqual(await syncer.post('reverse', {}), success);
    await syncer.waitFor(({ canCommit }) => canCommit);
  }

  it('carries back what users wrote since the commit, and can be committed and reversed again', async () => {
    const { source, destination } = pair;
    await using syncer = await pair.syncing(reversible);
    const first = await syncer.progress();
    await syncer.commit();
    // As early as users may write: the commit is still restoring indexes then.
    await syncer.waitFor(({ canWrite }) => canWrite === true);
    await useAsUser(destination);
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    await changeCatalog(destination.client.db('shop'));

    assert.deepEqual(await syncer.post('reverse', {}), success);
    const reversed = await syncer.progress();
    assert.equal(reversed.state, 'RUNNING');
    const { canWrite } = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.equal(canWrite, false);
    assert.deepEqual((await syncer.progress()).directionMapping, {
      Source: first.directionMapping?.Destination,
      Destination: first.directionMapping?.Source,
    });
    assert.deepEqual(await statesOf(pair), { source: 1, destination: 0 });
    // While it follows, the old source has the replicated form.
    assert.equal((await indexOf(source, 'shop', 'items', 'unique'))?.['unique'], undefined);
    assert.equal((await indexOf(source, 'shop', 'items', 'hidden'))?.['hidden'], undefined);
    const ttl = await indexOf(source, 'shop', 'items', 'ttl');
    assert.equal(ttl?.['expireAfterSeconds'], 2_147_483_647);
    assert.equal((await optionsOf(source, 'shop', 'capped'))?.['size'], 1e15);
    assert.equal(await write(source, 'app'), 'blocked');
    assert.equal(await write(destination, 'app'), 'written');
    await syncer.kill();
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    assert.equal(await write(destination, 'app'), 'blocked');
    await pair.assertEqual();
    assert.equal(await write(source, 'app'), 'written');

    await reverse(syncer);
    assert.deepEqual((await syncer.progress()).directionMapping, first.directionMapping);
    assert.deepEqual(await statesOf(pair), { source: 0, destination: 1 });
    await commitAndWait(syncer);
    assert.equal(await write(source, 'app'), 'blocked');
    await pair.assertEqual();
  });

  it('carries back the first write of a user, at the moment from which users may write', async () => {
    const { destination } = pair;
    await using syncer = await pair.syncing(reversible);
    await using user = new MongoClient(destination.set.uri('app'));
    const items = user.db('shop').collection<{ _id: string }>('items');
    // If the time from which a reversal takes changes were fixed only then, the write would come before it.
    await using slow = await slowCommands(destination, ['appendOplogNote'], 500);
    await syncer.commit();
    await until('a user may write', async () => {
      try {
        await items.insertOne({ _id: 'first' });
        return true;
      } catch (error) {
        assert.equal(codeOf(error), userWritesBlocked);
        return false;
      }
    });
    await slow[Symbol.asyncDispose]();
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    await reverse(syncer);
    await commitAndWait(syncer);
    const back = pair.source.client.db('shop').collection<{ _id: string }>('items');
    assert.equal(await back.countDocuments({ _id: 'first' }), 1);
    await pair.assertEqual();
  });

  it('is refused by name where it cannot be, and the sync stays COMMITTED', async () => {
    const refuses = async (
      syncer: SyncerProcess,
      error: string,
      description: RegExp,
    ): Promise<void> => {
      const { status, body } = await syncer.post('reverse', {});
      assert.equal(status, 409);
      assert.equal(body['error'], error, JSON.stringify(body));
      assert.match(String(body['errorDescription']), description);
      assert.equal((await syncer.progress()).state, 'COMMITTED');
    };
    {
      await using irreversible = await pair.syncing();
      await commitAndWait(irreversible);
      await refuses(irreversible, 'NotReversible', /without reversible/);
    }
    await pair.destination.client.db('shop').dropDatabase();
    await pair.destination.client.db('clustersync_internal').dropDatabase();
    await using syncer = await pair.syncing(reversible);
    await commitAndWait(syncer);
    const admin = pair.source.client.db('admin');
    await admin.command({ setUserWriteBlockMode: 1, global: false });
    await refuses(syncer, 'WritesNotBlocked', /write to cluster0/);
    await admin.command({ setUserWriteBlockMode: 1, global: true });
    const internal = pair.source.client.db('clustersync_internal');
    await internal
      .collection<{ _id: string }>('sync')
      .insertOne(otherSync({ name: 'cluster0', clusterId: 'another' }));
    await refuses(syncer, 'OtherSyncUnfinished', /cluster0 holds/);
    await internal.dropDatabase();
    await reverse(syncer);
  });

  it('start refuses reversible where the source holds the state of another sync', async () => {
    await using syncer = await pair.syncer();
    const internal = pair.source.client.db('clustersync_internal');
    await internal
      .collection<{ _id: string }>('sync')
      .insertOne(otherSync({ name: 'cluster0', clusterId: 'another' }));
    const body = { source: 'cluster0', destination: 'cluster1', ...reversible };
    const answer = await syncer.post('start', body);
    assert.equal(answer.body['error'], 'OtherSyncUnfinished', JSON.stringify(answer.body));
    await internal.dropDatabase();
    assert.deepEqual(await syncer.post('start', body), success);
  });
});

async function prepare(shop: Db): Promise<void> {
  const at = new Date(Date.now() + 1e9);
  const rows = Array.from({ length: 200 }, (_, n) => ({ _id: n, n, unique: n, at }));
  await shop.collection<{ _id: number }>('items').insertMany(rows);
  await shop.command({
    createIndexes: 'items',
    indexes: [
      { key: { unique: 1 }, name: 'unique', unique: true },
      { key: { n: 1 }, name: 'hidden', hidden: true },
      { key: { n: 1, unique: 1 }, name: 'prepared', prepareUnique: true },
      { key: { at: 1 }, name: 'ttl', expireAfterSeconds: 36_000 },
      // Not beside its unique twin while that one is not unique.
      { key: { unique: 1 }, name: 'twin' },
    ],
  });
  await shop.command({ create: 'capped', capped: true, size: 100_000, max: 150 });
  await shop.command({ create: 'unlimited', capped: true, size: 50_000 });
  const clusteredIndex = { key: { _id: 1 }, unique: true };
  await shop.command({ create: 'clustered', clusteredIndex, expireAfterSeconds: 36_000 });
  for (const name of ['capped', 'unlimited', 'clustered'])
    await shop.collection<{ n: number }>(name).insertMany(rows.map(({ n }) => ({ n })));
  await shop.command({ create: 'collated', collation: { locale: 'en', strength: 2 } });
  await shop.collection<{ _id: string }>('collated').insertMany([{ _id: 'a' }, { _id: 'b' }]);
  await shop.command({ create: 'view', viewOn: 'items', pipeline: [{ $limit: 3 }] });
}

/** Writes of an ordinary user: every kind. */
async function useAsUser({ set }: Side): Promise<void> {
  await using client = new MongoClient(set.uri('app'));
  const shop = client.db('shop');
  const items = shop.collection<{ _id: number }>('items');
  await items.insertMany(
    Array.from({ length: 100 }, (_, n) => ({ _id: 1000 + n, unique: 1000 + n })),
  );
  await items.updateMany(
    { _id: { $lt: 50 } },
    { $set: { changed: true, at: new Date() }, $unset: { n: '' } },
  );
  await items.deleteMany({ _id: { $gte: 150, $lt: 180 } });
  // Two documents exchange the key of a unique index.
  await items.updateOne({ _id: 1 }, { $set: { unique: -1 } });
  await items.updateOne({ _id: 2 }, { $set: { unique: 1 } });
  await items.updateOne({ _id: 1 }, { $set: { unique: 2 } });
  for (const name of ['capped', 'unlimited', 'clustered'])
    await shop.collection(name).insertMany(Array.from({ length: 60 }, (_, n) => ({ n: n + 500 })));
  await shop.collection<{ _id: string }>('collated').deleteOne({ _id: 'A' });
  await shop.collection('made').insertOne({ n: 1 });
  await shop.command({
    createIndexes: 'made',
    indexes: [{ key: { n: 1 }, name: 'n', unique: true }],
  });
}

/** Changes of the catalog, of altered characteristics among them. */
async function changeCatalog(shop: Db): Promise<void> {
  await shop.command({ collMod: 'items', index: { name: 'ttl', expireAfterSeconds: 40_000 } });
  await shop.command({ collMod: 'items', index: { name: 'hidden', hidden: false } });
  await shop.command({ dropIndexes: 'items', index: 'prepared' });
  await shop.command({ collMod: 'capped', cappedSize: 80_000, cappedMax: 120 });
  await shop.command({ collMod: 'view', viewOn: 'made', pipeline: [] });
  await shop.renameCollection('collated', 'renamed');
  await shop.collection('made').insertOne({ n: 2 });
}

/** Which side holds how many records of a sync. */
async function statesOf(pair: {
  readonly source: Side;
  readonly destination: Side;
}): Promise<object> {
  const count = async ({ client }: Side): Promise<number> =>
    await client.db('clustersync_internal').collection('sync').countDocuments();
  await until('one state', async () => {
    return (await count(pair.source)) + (await count(pair.destination)) === 1;
  });
  return { source: await count(pair.source), destination: await count(pair.destination) };
}

async function write({ set }: Side, user: 'app'): Promise<'written' | 'blocked'> {
  await using client = new MongoClient(set.uri(user));
  try {
    await client.db('users').collection('writes').insertOne({});
    return 'written';
  } catch {
    return 'blocked';
  }
}
