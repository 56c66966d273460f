import assert from 'node:assert/strict';
import type { Collection, Document } from 'mongodb';
import type { Answer } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, useClusterPair, type Side } from './cluster-pair.ts';
import { canBeSlow, failCommandsWith, holdCommands } from './slow-commands.ts';

/** Both can refuse a document, so that a write that fails makes one think of them. */
const refusing = [
  { key: { a: 1, b: 1 }, name: 'compound' },
  { key: { place: '2dsphere' }, name: 'geo' },
];

/** Asks for one more index. */
const later = { createIndexes: 'items', indexes: [{ key: { b: 1, a: 1 }, name: 'later' }] };

const wantedNames = ['_id_', 'compound', 'geo'];

/** Ends what the destination does for the syncer on a collection, as an administrator does. */
async function killOperation(
  { client }: Side,
  command: 'insert' | 'delete' | 'createIndexes',
  coll: string,
): Promise<void> {
  const admin = client.db('admin');
  // Of a delete the server shows its statements, not the command.
  const shown =
    command === 'delete' ? { op: 'remove', ns: `shop.${coll}` } : { [`command.${command}`]: coll };
  const running = async (): Promise<Document[]> =>
    await admin
      .aggregate([
        { $currentOp: { allUsers: true } },
        { $match: { active: true, appName: /^clustersync syncer/, ...shown } },
      ])
      .toArray();
  await until(`${command} on ${coll}`, async () => (await running()).length > 0);
  for (const { opid } of await running()) await admin.command({ killOp: 1, op: opid as number });
}

describe('operations that the destination ends', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  let items: Collection;
  let copies: Collection;

  beforeEach(async () => {
    await pair.reset();
    items = pair.source.client.db('shop').collection('items');
    copies = pair.destination.client.db('shop').collection('items');
    await items.insertMany(
      Array.from({ length: 100 }, (_, n) => ({ _id: n as never, a: n, b: -n, place: [n, n / 2] })),
    );
    await items.db.command({ createIndexes: 'items', indexes: refusing });
  });

  const names = async (): Promise<string[]> =>
    (await copies.indexes()).map(({ name }) => String(name)).sort();

  it('a commit that the store refuses is asked for again: it may have been taken', async () => {
    await using syncer = await pair.syncing();
    const unauthorized = 13;
    let answer: Promise<Answer>;
    {
      const record = 'clustersync_internal.sync';
      await using failing = await failCommandsWith(
        pair.destination,
        ['update'],
        unauthorized,
        record,
      );
      answer = syncer.post('commit', {});
      await failing.reached(2);
      assert.equal((await syncer.progress()).commitUnderWay, true);
    }
    assert.deepEqual(await answer, { status: 200, body: { success: true } });
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    await pair.assertEqual();
  });

  it('killOp of an insert of the copy: it is repeated, and drops no index', async () => {
    await using syncer = await pair.syncer();
    {
      await using held = await holdCommands(pair.destination, 'insert', 'shop.items');
      await syncer.start(forward);
      await held.reached(1);
      await killOperation(pair.destination, 'insert', 'items');
    }
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual(await names(), wantedNames);
    assert.equal(await copies.countDocuments(), 100);
    assert.match(await syncer.log(), /"work":"copy".*trying again/);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('killOp of a write while changes are applied: it is repeated, and the sync continues', async () => {
    await using syncer = await pair.syncing();
    {
      await using held = await holdCommands(pair.destination, 'insert', 'shop.items');
      await items.insertOne({ _id: 1_000 as never, a: 1, b: 2 });
      await held.reached(1);
      await killOperation(pair.destination, 'insert', 'items');
    }
    await until(
      'the insert',
      async () => (await copies.countDocuments({ _id: 1_000 as never })) === 1,
    );
    {
      await using held = await holdCommands(pair.destination, 'delete', 'shop.items');
      await items.deleteOne({ _id: 1_000 as never });
      await held.reached(1);
      await killOperation(pair.destination, 'delete', 'items');
    }
    await until(
      'the delete',
      async () => (await copies.countDocuments({ _id: 1_000 as never })) === 0,
    );
    assert.deepEqual(await names(), wantedNames);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('killOp of an index build: it is begun again, after the copy and while changes are applied', async () => {
    await using syncer = await pair.syncer();
    {
      await using held = await holdCommands(pair.destination, 'createIndexes', 'shop.items');
      await syncer.start({ ...forward, buildIndexes: 'afterDataCopy' });
      await held.reached(1);
      await killOperation(pair.destination, 'createIndexes', 'items');
    }
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual(await names(), wantedNames);
    {
      await using held = await holdCommands(pair.destination, 'createIndexes', 'shop.items');
      await items.db.command(later);
      await held.reached(1);
      await killOperation(pair.destination, 'createIndexes', 'items');
    }
    await until('the index', async () => (await names()).includes('later'));
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  for (const [code, name] of [
    [11_601, 'Interrupted'],
    [276, 'IndexBuildAborted'],
    [50, 'MaxTimeMSExpired'],
    [46_841, 'ClientMarkedKilled'],
    [365, 'TemporarilyUnavailable'],
    [43, 'CursorNotFound'],
    [96, 'OperationFailed'],
    [77_777, 'a code that no list has'],
  ] as const) {
    it(`${name} (${code}) of every write: it is tried again until it passes, and no index is left out`, async () => {
      await using syncer = await pair.syncer();
      const commands = ['create', 'createIndexes', 'insert', 'update', 'delete'];
      {
        await using failing = await failCommandsWith(
          pair.destination,
          commands,
          code,
          'shop.items',
        );
        await syncer.start(forward);
        await failing.reached(3);
      }
      await syncer.waitFor(({ canCommit }) => canCommit);
      {
        await using failing = await failCommandsWith(
          pair.destination,
          commands,
          code,
          'shop.items',
        );
        await items.insertOne({ _id: 1_000 as never, a: 1, b: 2 });
        await items.db.command(later);
        await failing.reached(3);
      }
      await until('the index', async () => (await names()).includes('later'));
      assert.deepEqual(await names(), [...wantedNames, 'later']);
      assert.equal(await copies.countDocuments(), 101);
      await commitAndWait(syncer);
      await pair.assertEqual();
    });
  }

  /** Makes a change on the source whose collection the destination cannot create at first. */
  async function whileCreationIsEnded(coll: string, change: () => Promise<void>): Promise<void> {
    const interrupted = 11_601;
    await using failing = await failCommandsWith(
      pair.destination,
      ['create'],
      interrupted,
      `shop.${coll}`,
    );
    await change();
    await failing.reached(1);
  }

  it('a creation that is ended while changes are applied is repeated, with its options', async () => {
    await using syncer = await pair.syncing();
    await whileCreationIsEnded('late', async () => {
      await items.db.createCollection('late', { collation: { locale: 'de' } });
    });
    await items.db.collection<{ _id: number }>('late').insertMany([{ _id: 1 }, { _id: 2 }]);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    assert.equal(await copies.db.collection('late').countDocuments(), 2);
    await pair.assertEqual();
  });

  it('a collection that a rename brings into the filter is copied, though its creation is ended', async () => {
    const outside = items.db.collection<{ _id: number }>('outside');
    await outside.insertMany(Array.from({ length: 100 }, (_, _id) => ({ _id })));
    await using syncer = await pair.syncing({
      includeNamespaces: [{ database: 'shop', collections: ['items', 'inside'] }],
    });
    await whileCreationIsEnded('inside', async () => {
      await outside.rename('inside');
    });
    await items.db.collection<{ _id: number }>('inside').insertOne({ _id: 1_000 });
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    assert.equal(await copies.db.collection('inside').countDocuments(), 101);
    await pair.assertEqual();
  });

  it('a write that finds no room in the cache of a busy server is repeated', async () => {
    await using syncer = await pair.syncing();
    {
      await using failing = await failCommandsWith(
        pair.destination,
        ['insert', 'update'],
        388,
        'shop.items',
      );
      await items.insertOne({ found: 'no room' });
      await failing.reached(2);
    }
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    assert.equal(await copies.countDocuments({ found: 'no room' }), 1);
    await pair.assertEqual();
  });

  for (const [code, name, error] of [
    [13, 'Unauthorized', 'MissingPrivileges'],
    [14_031, 'OutOfDiskSpace', 'ServerRefused'],
  ] as const) {
    it(`${name} (${code}) of an index build stops the sync by name: it is no refusal of the index`, async () => {
      await using syncer = await pair.syncing();
      {
        await using failing = await failCommandsWith(
          pair.destination,
          ['createIndexes'],
          code,
          'shop.items',
        );
        await items.db.command(later);
        await failing.reached(1);
        await assert.rejects(
          syncer.waitFor(({ warnings }) => warnings?.length === 1_000),
          new RegExp(error),
        );
      }
      await syncer.kill('SIGTERM');
      await syncer.restart();
      await until('the index', async () => (await names()).includes('later'));
      await syncer.waitFor(({ canCommit }) => canCommit);
      await commitAndWait(syncer);
      await pair.assertEqual();
    });
  }
});
