import assert from 'node:assert/strict';
import type { Collection, Document } from 'mongodb';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { createBareUser } from './bare-user.ts';
import { builtIndexes } from './built-indexes.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, failCommandsWith, holdCommands } from './slow-commands.ts';

interface Row extends Document {
  readonly _id: number;
}

/** In MiB: the collections of these tests are larger. */
const tinyPartition = 0.01;

describe('indexes that are created on a large collection during the sync', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
  });

  const items = (coll = 'items'): Collection<Row> =>
    pair.source.client.db('shop').collection<Row>(coll);
  const copies = (coll = 'items'): Collection<Row> =>
    pair.destination.client.db('shop').collection<Row>(coll);

  async function fill(coll = 'items', count = 200, bytes = 100): Promise<void> {
    const rows = Array.from({ length: count }, (_, n) => ({
      _id: n,
      a: n,
      text: 'x'.repeat(bytes),
    }));
    await items(coll).insertMany(rows);
  }

  async function started(body: object = {}): Promise<SyncerProcess> {
    const syncer = await pair.syncer({ options: { partitionMebibytes: tinyPartition } });
    await syncer.start({ ...forward, ...body });
    await syncer.waitFor(({ canCommit }) => canCommit);
    return syncer;
  }

  const create = async (name: string, key: Document, coll = 'items', more: object = {}) =>
    await items(coll).db.command({ createIndexes: coll, indexes: [{ name, key, ...more }] });

  const built = async (coll = 'items'): Promise<string[]> =>
    await builtIndexes(copies(coll).db, coll);

  /** The names of those that are being built, by the warnings. */
  const told = async (syncer: SyncerProcess): Promise<string[]> => {
    const { warnings } = await syncer.progress();
    return (warnings ?? []).flatMap((text) => /^index (\S+ of \S+) is built/.exec(text)?.[1] ?? []);
  };

  /** Writes to the source, and waits until the destination has it: changes flow. */
  async function writeThrough(_id: number, coll = 'items'): Promise<void> {
    await items(coll).insertOne({ _id, a: _id });
    const there = copies(coll);
    await until(`${_id}`, async () => (await there.countDocuments({ _id })) === 1);
  }

  it('are built, one after the other, while changes flow, also of that collection', async () => {
    await fill();
    await fill('others');
    await create('old', { old: 1 });
    await using syncer = await started();
    {
      await using held = await holdCommands(pair.destination, 'createIndexes', 'shop.items');
      await create('one', { a: 1 });
      await held.reached(1);
      await writeThrough(1_000);
      await create('two', { a: -1, text: 1 }, 'items', { unique: true });
      await create('three', { a: 1, b: 1 }, 'others');
      await create('four', { b: 1 });
      await items().dropIndex('old');
      await items().db.command({ collMod: 'items', index: { name: 'one', hidden: true } });
      await writeThrough(1_001);
      await writeThrough(1_002, 'others');
      assert.deepEqual((await told(syncer)).sort(), [
        'four of shop.items',
        'one of shop.items',
        'three of shop.others',
        'two of shop.items',
      ]);
      assert.deepEqual(await built(), ['_id_']);
    }
    await until('all are built', async () => (await built()).length === 4);
    await until('nothing is told', async () => (await told(syncer)).length === 0);
    assert.deepEqual(await built('others'), ['_id_', 'three']);
    assert.doesNotMatch(await syncer.log(), /the index build yields/, 'no build was begun twice');
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('are dropped and renamed by what comes next, whether they are built by then or not', async () => {
    await fill();
    await fill('dropped');
    await using syncer = await started();
    {
      await using held = await holdCommands(pair.destination, 'createIndexes', 'shop.items');
      await create('one', { a: 1 });
      await create('two', { b: 1 });
      await create('three', { c: 1 }, 'dropped');
      await held.reached(1);
      await items().dropIndex('one');
      await create('one', { other: 1 });
      await items('dropped').drop();
      await items().rename('renamed');
      await writeThrough(1_000, 'renamed');
    }
    await until('all are built', async () => (await built('renamed')).length === 3);
    await until('nothing is told', async () => (await told(syncer)).length === 0);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('are built by the next process where one is killed', async () => {
    await fill();
    await using syncer = await started();
    {
      await using held = await holdCommands(pair.destination, 'createIndexes', 'shop.items');
      await create('one', { a: 1 });
      await held.reached(1);
      await syncer.kill('SIGKILL');
      await syncer.restart();
      await syncer.waitFor(({ canCommit }) => canCommit);
      await writeThrough(1_000);
      assert.deepEqual(await told(syncer), ['one of shop.items']);
      const overrun = 'commit: not possible now: index one of shop.items: building for ';
      await syncer.waitFor(
        ({ canCommit, warnings }) => !canCommit && String(warnings).includes(overrun),
      );
    }
    await until('it is built', async () => (await built()).length === 2);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('are told of with the error for which the destination does not build them, until it does', async () => {
    await fill();
    await using syncer = await started();
    {
      const unknown = [pair.destination, ['createIndexes'], 8, 'shop.items'] as const;
      await using failed = await failCommandsWith(...unknown);
      await create('one', { a: 1 });
      await failed.reached(1);
      const why = 'index one of shop.items is left to the commit, unless it can be built earlier (';
      await syncer.waitFor(({ warnings }) => String(warnings).includes(`${why}UnknownError)`));
      await writeThrough(1_000);
    }
    await until('it is built', async () => (await built()).length === 2);
    await until('nothing is told', async () => (await syncer.progress()).warnings?.length === 0);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  for (const buildIndexes of ['beforeDataCopy', 'never'] as const) {
    it(`are built at once where the collection is small or capped: ${buildIndexes}`, async () => {
      const isNever = buildIndexes === 'never';
      await fill('small', 1);
      await items().db.createCollection('capped', { capped: true, size: 1_000_000 });
      await fill('capped');
      await fill();
      await using syncer = await started({ buildIndexes });
      for (const coll of ['small', 'capped', ...(isNever ? ['items'] : [])]) {
        await create('one', { a: 1 }, coll);
        await writeThrough(1_000, coll);
        assert.deepEqual(await built(coll), isNever ? ['_id_'] : ['_id_', 'one']);
        assert.deepEqual(await told(syncer), []);
      }
      await commitAndWait(syncer);
      if (!isNever) await pair.assertEqual();
    });
  }

  it('are built at once where the account may not read how large the collection is', async () => {
    await fill();
    const { client, set } = pair.destination;
    const cluster1 = await createBareUser(client, set.uri('syncer'));
    try {
      const options = { partitionMebibytes: tinyPartition };
      await using syncer = await pair.syncer({ cluster1, options });
      await syncer.start(forward);
      await syncer.waitFor(({ canCommit }) => canCommit);
      await create('one', { a: 1 });
      await writeThrough(1_000);
      assert.deepEqual(await built(), ['_id_', 'one']);
      await commitAndWait(syncer);
      await pair.assertEqual();
    } finally {
      await client.db('admin').command({ dropUser: 'bare' });
      await client.db('admin').command({ dropRole: 'bare' });
    }
  });

  it('are those of collections of more than 64 MiB where nobody says otherwise', async () => {
    const mebibyte = 2 ** 20;
    for (const coll of ['items', 'others']) await fill(coll, 66, mebibyte);
    await fill('small', 60, mebibyte);
    await using syncer = await pair.syncing();
    await create('one', { a: 1 }, 'small');
    await writeThrough(1_000, 'small');
    assert.deepEqual(await built('small'), ['_id_', 'one']);
    {
      await using held = await holdCommands(pair.destination, 'createIndexes', 'shop.items');
      for (const coll of ['items', 'others']) await create('one', { a: 1 }, coll);
      await held.reached(1);
      await writeThrough(1_001, 'small');
      assert.deepEqual((await told(syncer)).sort(), ['one of shop.items', 'one of shop.others']);
    }
    for (const coll of ['items', 'others'])
      await until(`that of ${coll}`, async () => (await built(coll)).length === 2);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });
});
