import assert from 'node:assert/strict';
import type { Collection } from 'mongodb';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, useClusterPair, type Side } from './cluster-pair.ts';
import { canBeSlow, holdCommands } from './slow-commands.ts';

describe('contract 4.1: buildIndexes', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  let items: Collection;
  beforeEach(async () => {
    await pair.reset();
    items = pair.source.client.db('shop').collection('items');
    await items.insertMany(Array.from({ length: 100 }, (_, n) => ({ n, text: `word${n}` })));
    await items.db.command({
      createIndexes: 'items',
      indexes: [
        { key: { n: 1 }, name: 'unique', unique: true },
        { key: { text: 'text' }, name: 'text' },
      ],
    });
  });

  /** Names of the indexes of a collection, in alphabetical order. */
  const names = async ({ client }: Side, coll: string): Promise<string[]> =>
    (await client.db('shop').collection(coll).indexes()).map(({ name }) => String(name)).sort();

  /** Starts a sync and tells the indexes that the destination has while the documents are copied. */
  async function startHeld(syncer: SyncerProcess, body: object): Promise<string[]> {
    await using held = await holdCommands(pair.destination, 'insert', 'shop.items');
    await syncer.start({ ...forward, ...body });
    await held.reached(1);
    const during = await names(pair.destination, 'items');
    assert.equal((await syncer.progress()).info, 'collection copy');
    return during;
  }

  /** Indexes that the destination gets while changes are applied: on a collection of before, and on a new one. */
  async function createMore(syncer: SyncerProcess): Promise<void> {
    const indexes = [{ key: { m: 1 }, name: 'm', unique: true, sparse: true }];
    await items.db.command({ createIndexes: 'items', indexes });
    await items.db.command({ createIndexes: 'more', indexes });
    await items.db.collection('more').insertOne({ m: 1 });
    const copies = pair.destination.client.db('shop').collection('more');
    await until('the last change', async () => (await copies.countDocuments()) === 1);
    await syncer.waitFor(({ canCommit }) => canCommit);
  }

  for (const body of [{}, { buildIndexes: 'beforeDataCopy' }]) {
    it(`${JSON.stringify(body)}: before the documents are copied, and those made later`, async () => {
      await using syncer = await pair.syncer();
      assert.deepEqual(await startHeld(syncer, body), ['_id_', 'text', 'unique']);
      await syncer.waitFor(({ canCommit }) => canCommit);
      await createMore(syncer);
      assert.deepEqual(await names(pair.destination, 'items'), ['_id_', 'm', 'text', 'unique']);
      assert.deepEqual(await names(pair.destination, 'more'), ['_id_', 'm']);
      await commitAndWait(syncer);
      await pair.assertEqual();
    });
  }

  it('afterDataCopy: once the documents are copied, and those made later', async () => {
    // Not among the small ones, which are built many at a time.
    const large = items.db.collection('large');
    await large.insertMany(
      Array.from({ length: 300 }, (_, n) => ({ n, filler: 'f'.repeat(2_000) })),
    );
    await items.db.command({ createIndexes: 'large', indexes: [{ key: { n: 1 }, name: 'n' }] });
    await using syncer = await pair.syncer();
    assert.deepEqual(await startHeld(syncer, { buildIndexes: 'afterDataCopy' }), ['_id_']);
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual(await names(pair.destination, 'items'), ['_id_', 'text', 'unique']);
    assert.deepEqual(await names(pair.destination, 'large'), ['_id_', 'n']);
    await createMore(syncer);
    assert.deepEqual(await names(pair.destination, 'items'), ['_id_', 'm', 'text', 'unique']);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('never: the index on _id alone, also after commit', async () => {
    await using syncer = await pair.syncer();
    assert.deepEqual(await startHeld(syncer, { buildIndexes: 'never' }), ['_id_']);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await createMore(syncer);
    await items.db.command({ collMod: 'items', index: { name: 'unique', hidden: true } });
    await items.db.command({ dropIndexes: 'items', index: 'text' });
    await commitAndWait(syncer);
    assert.deepEqual(await names(pair.destination, 'items'), ['_id_']);
    assert.deepEqual(await names(pair.destination, 'more'), ['_id_']);
    // Without the indexes of the source both sides are equal.
    for (const coll of ['items', 'more']) await items.db.command({ dropIndexes: coll, index: '*' });
    await pair.assertEqual();
  });
});
