import assert from 'node:assert/strict';
import type { Db } from 'mongodb';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, slowCommands } from './slow-commands.ts';

const ofSomebody = { _id: 'of somebody' as never, text: 'not of the sync' };

/** What somebody has made on the destination under a name that the source gives to something, before the sync comes to it. */
const foreign: Readonly<
  Record<
    string,
    { readonly make: (db: Db, name: string) => Promise<unknown>; readonly said: RegExp }
  >
> = {
  'a collection with documents': {
    make: async (db, name) => await db.collection(name).insertOne(ofSomebody),
    said: /was written to on the destination since the start/,
  },
  'an empty collection with other options': {
    make: async (db, name) => await db.createCollection(name, { capped: true, size: 4096 }),
    said: /was created on the destination since the start, but not by this sync/,
  },
  'a view': {
    make: async (db, name) => await db.createCollection(name, { viewOn: 'none', pipeline: [] }),
    said: /was created on the destination since the start, but not by this sync/,
  },
};

describe('what the sync has not made on the destination is neither taken nor dropped', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  const source = (): Db => pair.source.client.db('shop');
  const destination = (): Db => pair.destination.client.db('shop');
  const state = (): Db => pair.destination.client.db('clustersync_internal');

  beforeEach(async () => {
    await pair.reset();
    await source()
      .collection('items')
      .insertMany(Array.from({ length: 50 }, (_, n) => ({ n })));
    await source().command({
      createIndexes: 'items',
      indexes: [{ key: { n: 1 }, name: 'n', unique: true }],
    });
  });

  async function refuses(syncer: SyncerProcess, said: RegExp): Promise<void> {
    await assert.rejects(
      syncer.waitFor(() => false),
      (error: Error) => {
        assert.match(error.message, /DestinationNotEmpty/);
        assert.match(error.message, said);
        return true;
      },
    );
  }

  /** What exists under a name, with its documents. */
  async function found(db: Db, name: string): Promise<unknown> {
    const [info] = await db.listCollections({ name }).toArray();
    return [info, await db.collection(name).find().toArray()];
  }

  async function commitsEqual(syncer: SyncerProcess): Promise<void> {
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  }

  /** A repair, too, keeps what somebody else has made. */
  async function repairRefuses(syncer: SyncerProcess, name: string): Promise<void> {
    const before = await found(destination(), name);
    assert.equal((await syncer.post('repair', {})).status, 200);
    await refuses(syncer, new RegExp(`shop\\.${name}`));
    assert.deepEqual(await found(destination(), name), before);
  }

  /** When somebody has made room, the next process ends what the sync could not. */
  async function commitsOnceDropped(syncer: SyncerProcess, name: string): Promise<void> {
    await destination().dropCollection(name);
    await syncer.kill();
    await syncer.restart();
    await commitsEqual(syncer);
  }

  for (const [what, { make, said }] of Object.entries(foreign)) {
    it(`${what}, made while the catalog is read: refused by name, by the next process too`, async () => {
      await using syncer = await pair.syncer();
      {
        await using slow = await slowCommands(pair.destination, ['create'], 2_000);
        await syncer.start(forward);
        await slow.reached(1);
        await make(destination(), 'items');
      }
      const before = await found(destination(), 'items');
      await refuses(syncer, said);
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        await syncer.kill(signal);
        await syncer.restart();
        await refuses(syncer, /shop\.items was created on the destination since the start/);
        assert.deepEqual(await found(destination(), 'items'), before);
      }
      await repairRefuses(syncer, 'items');
      await commitsOnceDropped(syncer, 'items');
    });

    it(`${what}, where the source makes a collection while changes are applied`, async () => {
      await using syncer = await pair.syncing();
      await make(destination(), 'later');
      const before = await found(destination(), 'later');
      await source()
        .collection('later')
        .insertOne({ _id: 1 as never });
      await refuses(syncer, said);
      assert.deepEqual(await found(destination(), 'later'), before);
      await syncer.kill('SIGTERM');
      await syncer.restart();
      await refuses(syncer, said);
      assert.deepEqual(await found(destination(), 'later'), before);
      await repairRefuses(syncer, 'later');
      await commitsOnceDropped(syncer, 'later');
    });

    it(`${what}, where the source renames a collection to`, async () => {
      await using syncer = await pair.syncing();
      await make(destination(), 'renamed');
      const before = await found(destination(), 'renamed');
      await source().renameCollection('items', 'renamed');
      await refuses(syncer, /shop\.renamed/);
      assert.deepEqual(await found(destination(), 'renamed'), before);
      await repairRefuses(syncer, 'renamed');
      await commitsOnceDropped(syncer, 'renamed');
    });

    it(`${what}, where the source makes a collection outside the filter known by a rename`, async () => {
      await source()
        .collection('other')
        .insertOne({ _id: 1 as never });
      await using syncer = await pair.syncing({
        excludeNamespaces: [{ database: 'shop', collections: ['other'] }],
      });
      await make(destination(), 'later');
      const before = await found(destination(), 'later');
      await source().renameCollection('other', 'later');
      await refuses(syncer, said);
      assert.deepEqual(await found(destination(), 'later'), before);
      await commitsOnceDropped(syncer, 'later');
    });
  }

  it('a collection with documents where the source has a view', async () => {
    await source().createCollection('view', { viewOn: 'items', pipeline: [] });
    await using syncer = await pair.syncer();
    {
      await using slow = await slowCommands(pair.destination, ['create'], 2_000);
      await syncer.start(forward);
      await slow.reached(1);
      await destination().collection('view').insertOne(ofSomebody);
    }
    await refuses(syncer, /shop\.view/);
    await syncer.kill();
    await syncer.restart();
    await refuses(syncer, /shop\.view/);
    assert.equal(await destination().collection('view').countDocuments(ofSomebody), 1);
    await commitsOnceDropped(syncer, 'view');
  });

  it('a collection with documents where the source makes a view while changes are applied', async () => {
    await using syncer = await pair.syncing();
    await destination().collection('view').insertOne(ofSomebody);
    await source().createCollection('view', { viewOn: 'items', pipeline: [] });
    await refuses(syncer, /shop\.view/);
    assert.equal(await destination().collection('view').countDocuments(ofSomebody), 1);
    await commitsOnceDropped(syncer, 'view');
  });

  it('what somebody has put in the place of a collection or view that the source drops', async () => {
    await source().createCollection('view', { viewOn: 'items', pipeline: [] });
    await using syncer = await pair.syncing();
    for (const name of ['items', 'view']) {
      await destination().dropCollection(name);
      await destination().collection(name).insertOne(ofSomebody);
      await source().dropCollection(name);
    }
    await source().createCollection('last');
    await until('followed', async () => {
      return (await destination().listCollections({ name: 'last' }).toArray()).length === 1;
    });
    for (const name of ['items', 'view'])
      assert.equal(await destination().collection(name).countDocuments(ofSomebody), 1);
    const { warnings } = await syncer.progress();
    assert.match(String(warnings), /shop\.items was dropped on the source, but stays/);
  });

  it('a database in the way of one whose name differs only in case', async () => {
    const role = { role: 'dbAdminAnyDatabase', db: 'admin' };
    const admin = pair.destination.client.db('admin');
    await admin.command({ grantRolesToUser: 'syncer', roles: [role] });
    try {
      await using syncer = await pair.syncing({
        excludeNamespaces: [{ database: 'shop', collections: ['notes'] }],
      });
      await destination().collection('notes').insertOne(ofSomebody);
      await source().dropDatabase();
      await pair.source.client.db('SHOP').collection('items').insertOne({ n: 1 });
      await until('it has stopped, or has made the other one', async () => {
        const { error } = (await syncer.getProgress()).body;
        const databases = await admin.command({ listDatabases: 1, filter: { name: 'SHOP' } });
        return error !== undefined || (databases['databases'] as unknown[]).length > 0;
      });
      assert.equal(await destination().collection('notes').countDocuments(ofSomebody), 1);
      await assert.rejects(
        syncer.waitFor(() => false),
        /db already exists with different case already have: \[shop\] trying to create \[SHOP\]/,
      );
    } finally {
      await admin.command({ revokeRolesFromUser: 'syncer', roles: [role] });
    }
  });

  describe('what is stored of another sync, whose record is gone', () => {
    const anotherBody = { ...forward, includeNamespaces: [{ database: 'news' }] };

    /** A sync of everything that is over, as it is left where its state is removed and that is broken off behind the record. */
    async function leaveCatalog(): Promise<void> {
      await source().createCollection('view', { viewOn: 'items', pipeline: [] });
      {
        await using first = await pair.syncing();
        await commitAndWait(first);
      }
      await state().collection('sync').drop();
      await destination().collection('items').insertOne(ofSomebody);
      await pair.source.client.db('news').collection('stories').insertOne({ n: 1 });
    }

    async function assertAllThere(): Promise<void> {
      assert.equal(await destination().collection('items').countDocuments(), 51);
      assert.equal(await destination().collection('view').countDocuments(), 51);
    }

    it('is no reason to drop anything at a start', async () => {
      await leaveCatalog();
      await using syncer = await pair.syncer();
      await syncer.start(anotherBody);
      await syncer.waitFor(({ canCommit }) => canCommit);
      await assertAllThere();
      await commitAndWait(syncer);
      await assertAllThere();
      const news = pair.destination.client.db('news').collection('stories');
      assert.equal(await news.countDocuments(), 1);
    });

    it('is no reason to drop anything at a reset', async () => {
      await leaveCatalog();
      await using syncer = await pair.syncer();
      {
        await using slow = await slowCommands(pair.destination, ['delete'], 1_000);
        await syncer.start(anotherBody);
        await slow.reached(1);
        assert.equal((await syncer.post('reset', { destination: 'Clean' })).status, 200);
      }
      await syncer.waitFor(({ state: now }) => now === 'IDLE');
      await assertAllThere();
    });
  });
});
