import assert from 'node:assert/strict';
import type { Db, MongoClient } from 'mongodb';
import { findDifferences, type Difference } from '../../ground/compare.ts';
import { collectionChanges, fill, type CatalogChange } from './catalog-change-cases.ts';
import {
  commitAndWait,
  restartAndCommit,
  forward,
  namespacesOf,
  useClusterPair,
  type ClusterPair,
} from './cluster-pair.ts';
import { indexChanges } from './index-change-cases.ts';
import { canBeSlow, holdCommands } from './slow-commands.ts';

const cases = { ...collectionChanges, ...indexChanges };

/** When the catalog is changed: after the copy, or while the copy is held. */
interface Moment {
  readonly buildIndexes?: 'afterDataCopy';
  readonly copyWorkers?: number;
  /** The collection during whose copy everything is held up: with one worker it is the first, or the last. */
  readonly barrier?: { readonly documentBytes: number };
}

const moments: Readonly<Record<string, Moment>> = {
  'after the copy': {},
  'of collections that are not copied yet': {
    copyWorkers: 1,
    barrier: { documentBytes: 2_000_000 },
  },
  'of collections that are being copied, before their indexes': {
    copyWorkers: 60,
    buildIndexes: 'afterDataCopy',
  },
  'of collections that are copied, during the copy': {
    copyWorkers: 1,
    barrier: { documentBytes: 30 },
  },
};

describe('changes of the catalog', () => {
  const pair = useClusterPair({ parameters: canBeSlow });

  for (const [when, { copyWorkers, barrier, buildIndexes = 'beforeDataCopy' }] of Object.entries(
    moments,
  )) {
    describe(when, () => {
      const differences = new Map<string, readonly Difference[]>();

      before(async () => {
        await pair.reset();
        const { client } = pair.source;
        await onEveryCase(client, async ({ before: prepare }, ...dbs) => await prepare?.(...dbs));
        await using syncer = await pair.syncer(copyWorkers ? { options: { copyWorkers } } : {});
        if (copyWorkers === undefined) {
          await syncer.start({ ...forward, buildIndexes });
          await syncer.waitFor(({ canCommit }) => canCommit);
          await onEveryCase(client, async ({ change }, ...dbs) => await change(...dbs));
        } else {
          const filler = 'x'.repeat(barrier?.documentBytes ?? 0);
          if (barrier) await client.db('barrier').collection('rows').insertOne({ filler });
          await using held = await holdCommands(
            pair.destination,
            'insert',
            barrier && 'barrier.rows',
          );
          await syncer.start({ ...forward, buildIndexes });
          await held.reached(barrier ? 1 : await countFilled(client));
          await onEveryCase(client, async ({ change }, ...dbs) => await change(...dbs));
        }
        await syncer.waitFor(({ canCommit }) => canCommit);
        await commitAndWait(syncer);
        for (const [name, found] of await differencesByCase(pair)) differences.set(name, found);
      });

      for (const name of Object.keys(cases)) {
        it(name, () => {
          assert.deepEqual(differences.get(name), undefined);
        });
      }
    });
  }

  describe('of a collection of which two partitions are being copied and others not yet begun', () => {
    const other = (): Db => pair.source.client.db('other');
    const changes: Readonly<Record<string, (db: Db) => Promise<unknown>>> = {
      'renamed, and another in its place': async (db) => {
        await db.renameCollection('rows', 'moved');
        await db.collection('moved').deleteMany({ n: { $mod: [3, 0] } });
        await fill(db, 'rows');
      },
      'dropped, and made again': async (db) => {
        await db.dropCollection('rows');
        await fill(db, 'rows');
      },
      'renamed into another database': async (db) => {
        await db.client
          .db('admin')
          .command({ renameCollection: 'data.rows', to: 'other.rows', dropTarget: true });
        await other()
          .collection('rows')
          .updateMany({}, { $inc: { n: 1 } });
      },
      'converted to capped': async (db) =>
        await db.command({ convertToCapped: 'rows', size: 50_000 }),
      'dropped with its database': async (db) => {
        await db.dropDatabase();
        await fill(db, 'rows');
      },
    };
    for (const [what, change] of Object.entries(changes)) {
      it(what, async () => {
        await pair.reset();
        const db = pair.source.client.db('data');
        const rows = Array.from({ length: 400 }, (_, n) => ({ n, text: 'x'.repeat(1000) }));
        await db.collection('rows').insertMany(rows);
        await fill(other(), 'rows');
        const options = { copyWorkers: 2, partitionMebibytes: 0.05 };
        await using syncer = await pair.syncer({ options });
        const held = await holdCommands(pair.destination, 'insert', 'data.rows');
        await syncer.start(forward);
        await held.reached(2);
        await change(db);
        await held[Symbol.asyncDispose]();
        await syncer.waitFor(({ canCommit }) => canCommit);
        await commitAndWait(syncer);
        await pair.assertEqual();
      });
    }
  });

  describe('what cannot be followed', () => {
    beforeEach(async () => {
      await pair.reset();
    });

    it('a time-series collection created during the sync: TimeSeriesNotSupported', async () => {
      await using syncer = await pair.syncing();
      await pair.source.client
        .db('data')
        .createCollection('ticks', { timeseries: { timeField: 't' } });
      await assert.rejects(
        syncer.waitFor(() => false),
        /"TimeSeriesNotSupported: [^"]*data\.ticks/,
      );
      const { status, body } = await syncer.getProgress();
      assert.equal(status, 400);
      assert.deepEqual(Object.keys(body), ['error']);
      assert.equal((await syncer.post('commit', {})).body['error'], 'TimeSeriesNotSupported');
      assert.ok(syncer.pid);
    });

    it('a database made again in other letters asks for dropDatabase; once granted, it continues', async () => {
      const { client } = pair.source;
      await client.db('shop').collection('items').insertOne({ n: 1 });
      await client.db('shop').createCollection('view', { viewOn: 'items', pipeline: [] });
      await using syncer = await pair.syncing();
      await assert.rejects(client.db('SHOP').collection('items').insertOne({ n: 2 }), {
        code: 13297,
      });
      await client.db('shop').dropDatabase();
      await client.db('SHOP').collection('items').insertOne({ n: 2 });
      await assert.rejects(
        syncer.waitFor(() => false),
        /MissingPrivileges: not authorized on shop to execute command { dropDatabase/,
      );
      const role = { role: 'dbAdminAnyDatabase', db: 'admin' };
      const admin = pair.destination.client.db('admin');
      await admin.command({ grantRolesToUser: 'syncer', roles: [role] });
      try {
        await restartAndCommit(syncer);
        await pair.assertEqual();
      } finally {
        await admin.command({ revokeRolesFromUser: 'syncer', roles: [role] });
      }
    });

    it('a time-series collection that is excluded is left alone', async () => {
      const data = pair.source.client.db('data');
      await data.createCollection('ticks', { timeseries: { timeField: 't' } });
      const excludeNamespaces = [{ database: 'data', collectionsRegex: { pattern: '^t' } }];
      await using syncer = await pair.syncing({ excludeNamespaces });
      await data.createCollection('tocks', { timeseries: { timeField: 't' } });
      await data.collection('ticks').insertOne({ t: new Date() });
      await data.collection('rows').insertOne({ n: 1 });
      await commitAndWait(syncer);
      assert.deepEqual(await namespacesOf(pair.destination), ['data.rows']);
    });
  });
});

async function onEveryCase(
  client: MongoClient,
  run: (one: CatalogChange, db: Db, other: Db) => Promise<unknown>,
): Promise<void> {
  await Promise.all(
    Object.values(cases).map(async (one, index) => await run(one, ...dbsOf(client, index))),
  );
}

/** How many collections have documents to copy. */
async function countFilled(client: MongoClient): Promise<number> {
  const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
  let count = 0;
  for (const { name } of databases.filter((database) => database.name.startsWith('case_')))
    for (const { name: coll } of await client
      .db(name)
      .listCollections({ type: 'collection' })
      .toArray())
      if (coll !== 'system.views' && (await client.db(name).collection(coll).findOne({})) !== null)
        count++;
  return count;
}

/** What differs, by the case that shows it; nothing for those whose databases are equal. */
async function differencesByCase({
  source,
  destination,
}: ClusterPair): Promise<Map<string, readonly Difference[]>> {
  const uris = [source.set.uri('admin'), destination.set.uri('admin')] as const;
  const differences = new Map<string, readonly Difference[]>();
  if ((await findDifferences(...uris)).length === 0) return differences;
  const databases = Object.keys(cases).flatMap((_, index) => databasesOf(index));
  for (const [index, name] of Object.keys(cases).entries()) {
    const own = databasesOf(index);
    const exclude = ['barrier', ...databases.filter((database) => !own.includes(database))];
    const found = await findDifferences(...uris, { exclude });
    if (found.length > 0) differences.set(name, found);
  }
  return differences;
}

function databasesOf(index: number): [string, string] {
  return [`case_${index}`, `case_${index}_other`];
}

function dbsOf(client: MongoClient, index: number): [Db, Db] {
  const [first, second] = databasesOf(index);
  return [client.db(first), client.db(second)];
}
