import assert from 'node:assert/strict';
import type { Collection, Document } from 'mongodb';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { builtIndexes } from './built-indexes.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';
import {
  canBeSlow,
  delayNext,
  failCommands,
  holdCommands,
  slowCommands,
  type Obstacle,
} from './slow-commands.ts';

interface Row extends Document {
  readonly _id: number;
}

describe('indexes that are left to the commit', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  let items: Collection<Row>;
  let copies: Collection<Row>;

  beforeEach(async () => {
    await pair.reset();
    items = pair.source.client.db('shop').collection<Row>('items');
    copies = pair.destination.client.db('shop').collection<Row>('items');
    await items.insertMany(Array.from({ length: 100 }, (_, n) => ({ _id: n, a: n, b: -n })));
  });

  const create = async (indexes: readonly Document[]): Promise<void> => {
    await items.db.command({ createIndexes: 'items', indexes });
  };
  const two = { key: { a: 1, b: 1 }, name: 'two' };

  const namesOf = async (coll = 'items'): Promise<string[]> => await builtIndexes(copies.db, coll);

  /** What is told of an index that is left, of a collection. */
  const told = async (syncer: SyncerProcess): Promise<string[]> =>
    ((await syncer.progress()).warnings ?? []).filter((text) => text.includes('is left to'));

  /** Writes to the source, and waits until the destination has it: changes flow. */
  const writeThrough = async (_id: number, coll = 'items'): Promise<void> => {
    await items.db.collection<Row>(coll).insertOne({ _id, a: _id, b: _id });
    const there = copies.db.collection<Row>(coll);
    await until(`${_id}`, async () => (await there.countDocuments({ _id })) === 1);
  };

  /** What no index of both fields takes, and only the destination has. */
  const putInTheWay = async (): Promise<void> => {
    await copies.insertOne({ _id: -1, a: [1, 2], b: [1, 2] });
  };

  it('one that is refused is in warnings at once, is built while changes flow, and is told of no more', async () => {
    await using syncer = await pair.syncing();
    await putInTheWay();
    await create([two]);
    await until('the warning', async () => (await told(syncer)).length === 1);
    const [warning] = await told(syncer);
    assert.match(
      String(warning),
      /index two of shop\.items .*\(CannotIndexParallelArrays\): .* (known|\d+ s)$/,
    );
    const stored = pair.destination.client.db('clustersync_internal').collection('leftIndexes');
    assert.equal(await stored.countDocuments({ '_id.name': 'two' }), 1);
    await writeThrough(1_000);
    assert.deepEqual(await namesOf(), ['_id_']);
    await copies.deleteOne({ _id: -1 });
    await until('the index', async () => (await namesOf()).includes('two'));
    await until('no warning', async () => (await told(syncer)).length === 0);
    assert.equal(await stored.countDocuments(), 0);
    assert.match(await syncer.log(), /a left index is built/);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('one that refuses a document is told of before it is dropped', async () => {
    await create([two]);
    const large = items.db.collection<Row>('large');
    await large.insertOne({ _id: 0, text: 'x'.repeat(512 * 1024) });
    await using syncer = await pair.syncer();
    {
      const refusing = ['dropIndexes'];
      await using failing = await failCommands(pair.destination, refusing, 'shop.items');
      {
        // It is copied first: the catalog has been read by then, documents of small collections have not.
        await using held = await holdCommands(pair.destination, 'insert', 'shop.large');
        await syncer.start(forward);
        await held.reached(1);
        await items.dropIndex('two');
        await items.updateOne({ _id: 5 }, { $set: { a: [1, 2], b: [1, 2] } });
      }
      await failing.reached(1);
      const [warning] = await told(syncer);
      assert.match(String(warning), /index two of shop\.items .*\(CannotIndexParallelArrays\)/);
      assert.deepEqual(await namesOf(), ['_id_', 'two']);
    }
    await syncer.waitFor(({ canCommit }) => canCommit);
    await items.updateOne({ _id: 5 }, { $set: { b: 3 } });
    await create([two]);
    await until('the index', async () => (await namesOf()).includes('two'));
    await until('no warning', async () => (await told(syncer)).length === 0);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('one that cannot stand beside another is told of until the commit, which builds it', async () => {
    await create([{ key: { a: 1 }, name: 'plain' }]);
    await create([{ key: { a: 1 }, name: 'unique', unique: true }]);
    await using syncer = await pair.syncing();
    const [warning, ...others] = await told(syncer);
    assert.match(String(warning), /index (plain|unique) of shop\.items .*\(IndexOptionsConflict\)/);
    assert.deepEqual(others, []);
    const expected = /expected to take \d+ s$/;
    await until('a time', async () => (await told(syncer)).some((text) => expected.test(text)));
    await syncer.kill();
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.match(String(await told(syncer)), expected);
    assert.equal((await told(syncer)).length, 1);
    await commitAndWait(syncer);
    assert.deepEqual(await told(syncer), []);
    await pair.assertEqual();
  });

  /** Leaves the index, and holds its build in the background until the result is disposed of. */
  async function holdBuild(syncer: SyncerProcess): Promise<Obstacle> {
    await putInTheWay();
    await create([two]);
    await until('the warning', async () => (await told(syncer)).length === 1);
    const held = await holdCommands(pair.destination, 'createIndexes', 'shop.items');
    await copies.deleteOne({ _id: -1 });
    return held;
  }

  it('one of which nobody knows how long it takes keeps a commit waiting until that is known', async () => {
    await using syncer = await pair.syncing();
    // How fast documents are read is known to the process alone that has copied them.
    await syncer.kill('SIGKILL');
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    const unknown = '1 index must be built first, which takes an unknown time';
    await putInTheWay();
    {
      const slowed = ['createIndexes'];
      await using slow = await slowCommands(pair.destination, slowed, 3_000, 'shop.items');
      await create([two]);
      await slow.reached(1);
      const told = await syncer.waitFor(({ warnings }) => String(warnings).includes(unknown));
      assert.equal(told.canCommit, false);
    }
    const { warnings } = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.match(String(warnings), /index two of .*: the build is expected to take \d+ s/);
    await copies.deleteOne({ _id: -1 });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('a build holds up no changes of documents, and gives way to changes of the catalog', async () => {
    await using syncer = await pair.syncing();
    {
      await using held = await holdBuild(syncer);
      await held.reached(1);
      for (let n = 0; n < 20; n++) await writeThrough(2_000 + n);
      {
        // What is repeated waits for earlier writes: the build is none.
        await using failing = await failCommands(pair.destination, ['insert'], 'shop.items');
        await items.insertOne({ _id: 2_100, a: 1, b: 1 });
        await failing.reached(2);
      }
      await writeThrough(2_101);
      // Another batch may bring it later, and the build is held all the while.
      await until('what is repeated', async () => {
        return (await copies.countDocuments({ _id: 2_100 })) === 1;
      });
      await items.rename('renamed');
      await writeThrough(3_000, 'renamed');
    }
    await until('the index', async () => (await namesOf('renamed')).includes('two'));
    await until('no warning', async () => (await told(syncer)).length === 0);
    assert.match(await syncer.log(), /index build yields, and is started again later/);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('an index that the source drops while it is built is there no more, and not told of', async () => {
    await using syncer = await pair.syncing();
    {
      await using held = await holdBuild(syncer);
      await held.reached(1);
      await items.dropIndex('two');
      await writeThrough(3_000);
    }
    await until('no warning', async () => (await told(syncer)).length === 0);
    await writeThrough(3_001);
    assert.deepEqual(await namesOf(), ['_id_']);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('a process that is killed while it builds one is followed by one that waits for no build', async () => {
    await using syncer = await pair.syncing();
    {
      await using held = await holdBuild(syncer);
      await held.reached(1);
      await syncer.kill('SIGKILL');
      await syncer.restart();
      await syncer.waitFor(({ canCommit }) => canCommit);
      await writeThrough(3_000);
    }
    await until('the index', async () => (await namesOf()).includes('two'));
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('a pause while one is built, and a commit while one is built, end as without', async () => {
    await using syncer = await pair.syncing();
    {
      await using held = await holdBuild(syncer);
      await held.reached(1);
      await syncer.post('pause', {});
      await syncer.post('resume', {});
      await writeThrough(3_000);
      await syncer.commit();
    }
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    assert.deepEqual(await told(syncer), []);
    await pair.assertEqual();
  });

  it('a build that the server has not begun when its process is killed brings back no index', async () => {
    await using syncer = await pair.syncing();
    await putInTheWay();
    await create([two]);
    await until('the warning', async () => (await told(syncer)).length === 1);
    const reached = await delayNext(pair.destination, 'createIndexes', 35_000);
    await reached();
    // An attempt that came before it is refused.
    await copies.deleteOne({ _id: -1 });
    await syncer.kill();
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await items.dropIndex('two');
    await writeThrough(3_000);
    await commitAndWait(syncer);
    const { client } = pair.destination;
    await until('the server has ended all builds', async () => {
      const match = { 'command.createIndexes': 'items' };
      const running = client
        .db('admin')
        .aggregate([{ $currentOp: { allUsers: true } }, { $match: match }]);
      return (await running.toArray()).length === 0;
    });
    assert.deepEqual(await namesOf(), ['_id_']);
    await pair.assertEqual();
  });
});
