import assert from 'node:assert/strict';
import { MongoClient, type Db } from 'mongodb';
import {
  commitAndWait,
  restartAndCommit,
  namespacesOf,
  useClusterPair,
  type Side,
} from './cluster-pair.ts';
import { fill } from './catalog-change-cases.ts';
import { canBeSlow, slowCommands } from './slow-commands.ts';

/** Drops all views of a database by the collection that holds them, of which no change event tells. */
async function dropSystemViews({ set, client }: Side, db: string): Promise<void> {
  const admin = client.db('admin');
  const resource = { db, collection: 'system.views' };
  await admin.command({
    createRole: 'views',
    roles: [],
    privileges: [{ resource, actions: ['dropCollection'] }],
  });
  await admin.command({ createUser: 'views', pwd: 'secret', roles: ['views'] });
  const user = new MongoClient(set.uri('syncer').replace(/\/\/.*@/, '//views:secret@'));
  try {
    await user.db(db).command({ drop: 'system.views' });
  } finally {
    await user.close();
    await admin.command({ dropUser: 'views' });
    await admin.command({ dropRole: 'views' });
  }
}

async function createViews(db: Db, ...names: readonly string[]): Promise<void> {
  for (const name of names) await db.command({ create: name, viewOn: 'rows', pipeline: [] });
}

describe('views whose drop no event tells of', () => {
  const pair = useClusterPair({ parameters: canBeSlow });

  beforeEach(async () => {
    await pair.reset();
    await fill(pair.source.client.db('data'), 'rows');
  });

  it('are gone from the destination when the sync is committed', async () => {
    const db = pair.source.client.db('data');
    await createViews(db, 'a', 'b', 'c');
    await using syncer = await pair.syncing();
    await createViews(db, 'd');
    await dropSystemViews(pair.source, 'data');
    await createViews(db, 'b');
    await commitAndWait(syncer);
    await pair.assertEqual();
    assert.deepEqual(await namespacesOf(pair.destination), ['data.b', 'data.rows']);
  });

  it('give way to collections that come to their names', async () => {
    const db = pair.source.client.db('data');
    await createViews(db, 'created', 'renamed');
    await using syncer = await pair.syncing();
    await dropSystemViews(pair.source, 'data');
    await fill(db, 'created');
    await fill(db, 'other');
    await db.renameCollection('other', 'renamed');
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('are told from those that were dropped after the commit', async () => {
    const db = pair.source.client.db('data');
    await createViews(db, 'dropped', 'changed');
    await createViews(db.client.db('database'), 'dropped');
    await createViews(db.client.db('silent'), 'dropped', 'again');
    await using syncer = await pair.syncing();
    await dropSystemViews(pair.source, 'silent');
    {
      await using held = await slowCommands(pair.source, ['listCollections'], 2_000);
      await syncer.commit();
      await held.reached(1);
      await db.command({ collMod: 'changed', viewOn: 'others', pipeline: [] });
      await db.dropCollection('changed');
      await db.dropCollection('dropped');
      await db.client.db('database').dropDatabase();
      await createViews(db.client.db('silent'), 'again');
      await db.client.db('silent').dropCollection('again');
    }
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    assert.deepEqual(await namespacesOf(pair.destination), [
      'data.changed',
      'data.dropped',
      'data.rows',
      'database.dropped',
    ]);
  });
});

describe('views that the destination refuses', () => {
  const pair = useClusterPair({ parameters: canBeSlow });

  beforeEach(async () => {
    await pair.reset();
    await fill(pair.source.client.db('data'), 'rows');
  });

  it('in themselves stop the sync; it continues when they are dropped from the source', async () => {
    const db = pair.source.client.db('data');
    await using syncer = await pair.syncing();
    // As of a stage that its release does not have.
    const admin = pair.destination.client.db('admin');
    const refused = { failCommands: ['create'], namespace: 'data.newer', errorCode: 40_324 };
    await admin.command({ configureFailPoint: 'failCommand', mode: 'alwaysOn', data: refused });
    try {
      await createViews(db, 'newer', 'next');
      await assert.rejects(
        syncer.waitFor(({ state }) => state === 'COMMITTED'),
        /ViewRefused: the destination rejects the view data\.newer: /,
      );
      await db.dropCollection('newer');
      await restartAndCommit(syncer);
      await pair.assertEqual();
    } finally {
      await admin.command({ configureFailPoint: 'failCommand', mode: 'off' });
    }
  });

  it('beside its own stop the commit; it continues without those that are dropped from the source', async () => {
    const db = pair.source.client.db('data');
    const own = { viewOn: 'x', pipeline: [], collation: { locale: 'fr' } };
    await pair.destination.client.db('data').command({ create: 'own', ...own });
    const excludeNamespaces = [{ database: 'data', collections: ['own'] }];
    await using syncer = await pair.syncing({ excludeNamespaces });
    await db.command({ create: 'on own', viewOn: 'own', pipeline: [] });
    await createViews(db, 'next');
    await syncer.commit();
    await assert.rejects(
      syncer.waitFor(({ state }) => state === 'COMMITTED'),
      /ViewRefused: the destination rejects the view data\.on own: .*collation/,
    );
    assert.doesNotMatch(await syncer.log(), /users may write/);
    await db.dropCollection('on own');
    await syncer.kill('SIGTERM');
    await syncer.restart();
    const { warnings } = await syncer.waitFor(({ state }) => state === 'COMMITTED');
    assert.match(String(warnings), /the view data\.on own, dropped from the source/);
    await pair.assertEqual({ exclude: ['data.own'] });
  });
});
