import assert from 'node:assert/strict';
import { Double, Timestamp, type Document } from 'mongodb';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, restartAndCommit } from './cluster-pair.ts';
import { startInstances } from './instances.ts';
import { useMergedPair } from './merged-pair.ts';
import { failureOf } from './sharded-pair.ts';
import { slowOnShards } from './slow-commands.ts';

interface Item extends Document {
  _id: string | number | Double;
}

const items = (count: number, first = 0): Item[] =>
  Array.from({ length: count }, (_, n) => ({ _id: first + n, k: (first + n) * 7, v: 'a' }));

/** Below, and from there on: on which shard a document is. */
const middle = 2100;
const low = { _id: 'twice', k: 1 };
const high = { _id: 'twice', k: 4000 };

/**
 * The invariant: no document of a sharded source counts as copied or applied because another one with its `_id` is there.
 * Either the sync stops with DuplicateIds, or the destination has what the source has in the end.
 */
describe('documents of one _id on two shards, on the way into a replica set', () => {
  const pair = useMergedPair(2);
  const shop = () => pair.source.client.db('shop');
  const source = () => shop().collection<Item>('items');
  const copies = () => pair.destination.client.db('shop').collection<Item>('items');

  beforeEach(async () => {
    await pair.reset();
    await pair.halves('shop.items', middle);
    await source().insertMany(items(100, 250));
  });

  const told = (id: string): RegExp =>
    new RegExp(`^DuplicateIds: shop\\.items has several documents with the _id ${id}`);

  for (const [what, other, id, isStamped] of [
    ['the same bytes', high, '"twice"', false],
    // To the server the two are one key.
    ['another numeric type', { _id: new Double(280), k: 5000 }, '280', false],
    // The server puts its own time there, which is corrected after an insert: not in the other document.
    ['zero timestamps', high, '"twice"', true],
  ] as const) {
    it(`stop the copy, with ${what}, until one of them is gone`, async () => {
      await source().insertMany([low, other]);
      const stamp = { $set: { time: new Timestamp(0n) } };
      if (isStamped) await source().updateMany({ _id: other._id }, [stamp]);
      assert.equal(await source().countDocuments(), 102);
      await using syncer = await pair.syncer();
      await syncer.start(forward);
      assert.match(await failureOf(syncer), told(id));
      await source().deleteOne(other);
      await restartAndCommit(syncer);
      await pair.assertEqual();
      assert.equal(await copies().countDocuments(), 101);
    });
  }

  it('stop the copy of a small collection, and of one with a collation', async () => {
    await using syncer = await pair.syncer();
    const collation = { locale: 'en', strength: 2 };
    const simple = { locale: 'simple' };
    await shop().createCollection('words', { collation });
    await shop()
      .collection('words')
      .createIndexes([{ key: { k: 1 }, collation: simple }]);
    await pair.admin({ shardCollection: 'shop.words', key: { k: 1 }, collation: simple });
    await pair.admin({ split: 'shop.words', middle: { k: middle } });
    await pair.admin({ moveChunk: 'shop.words', find: { k: middle }, to: 'from-1' });
    const words = shop().collection<Item>('words');
    await words.insertMany([
      { _id: 'a', k: 1 },
      { _id: 'A', k: 4000 },
      { _id: 'b', k: 2 },
    ]);
    await syncer.start(forward);
    assert.match(await failureOf(syncer), /^DuplicateIds: shop\.words has several documents/);
    await words.deleteOne({ _id: 'a', k: 1 });
    await syncer.kill('SIGTERM');
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await words.insertOne({ _id: 'B', k: 4001 });
    assert.match(await failureOf(syncer), /^DuplicateIds: shop\.words has several documents/);
    await words.deleteOne({ _id: 'b', k: 2 });
    await restartAndCommit(syncer);
    await pair.assertEqual();
    assert.equal(await pair.destination.client.db('shop').collection('words').countDocuments(), 2);
  });

  it('leave the one that was refused in the copy if the other is deleted before the source is asked', async () => {
    const { ground } = pair.source;
    assert.ok(ground);
    await source().insertMany([low, high]);
    await using syncer = await pair.syncer();
    let left: Document | undefined;
    {
      await using slow = await slowOnShards(ground, ['aggregate'], 5_000, {
        namespace: 'shop.items',
      });
      await syncer.start(forward);
      // The look for duplicates, once an insert was refused.
      await slow.reached(1);
      const copied = await copies().findOne({ _id: 'twice' });
      assert.ok(copied);
      await source().deleteOne(copied);
      left = copied['k'] === low.k ? high : low;
    }
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
    assert.deepEqual(await copies().findOne({ _id: 'twice' }), left);
  });

  it('stop the sync when the second is inserted, and leave both as they are until one is gone', async () => {
    await source().insertOne(low);
    await using syncer = await pair.syncing({});
    await source().insertOne({ ...high, v: 'second' });
    assert.match(await failureOf(syncer), told('"twice"'));
    assert.deepEqual(await copies().findOne({ _id: 'twice' }), low);
    await source().updateOne({ ...high }, { $set: { v: 'changed' } });
    await source().updateOne({ ...low }, { $set: { v: 'first' } });
    await source().deleteOne(high);
    await restartAndCommit(syncer);
    await pair.assertEqual();
    assert.deepEqual(await copies().findOne({ _id: 'twice' }), { ...low, v: 'first' });
  });

  it('stop several instances in the same way', async () => {
    await source().insertMany(items(100, 400));
    await using instances = await startInstances(pair, { options: { partitionMebibytes: 0.001 } });
    await instances.start();
    await instances.waitFor(({ canCommit }) => canCommit);
    const twice = [270, 330, 420, 480];
    const otherSide = (_id: number): number => (_id * 7 < middle ? 5_000 + _id : _id);
    for (const _id of twice) await source().insertOne({ _id, k: otherSide(_id) });
    const isTold = async (): Promise<boolean> => {
      const all = await Promise.all(instances.all.map(async (one) => await one.getProgress()));
      return all.some(({ body }) => told('\\d+').test(String(body['error'])));
    };
    await until('DuplicateIds', isTold);
    for (const _id of twice) await source().deleteOne({ _id, k: _id * 7 });
    for (const one of instances.all) {
      await one.kill('SIGKILL');
      await one.restart();
    }
    await instances.waitFor(({ canCommit }) => canCommit);
    await instances.commit();
    await instances.waitFor(({ state }) => state === 'COMMITTED');
    await pair.assertEqual();
    for (const _id of twice) assert.equal((await copies().findOne({ _id }))?.['k'], otherSide(_id));
  });

  it('stop it, too, if a collation takes their shard keys for one', async () => {
    const simple = { locale: 'simple' };
    await shop().createCollection('words', { collation: { locale: 'en', strength: 2 } });
    const words = shop().collection<Item>('words');
    await words.createIndexes([{ key: { k: 1 }, collation: simple }]);
    await pair.admin({ shardCollection: 'shop.words', key: { k: 1 }, collation: simple });
    await pair.admin({ split: 'shop.words', middle: { k: 'a' } });
    await pair.admin({ moveChunk: 'shop.words', find: { k: 'a' }, to: 'from-1' });
    await words.insertOne({ _id: 'twice', k: 'x' });
    await using syncer = await pair.syncing({});
    await words.insertOne({ _id: 'twice', k: 'X' });
    assert.match(await failureOf(syncer), /^DuplicateIds: shop\.words has several documents/);
    const copied = pair.destination.client.db('shop').collection<Item>('words');
    assert.deepEqual(await copied.find().toArray(), [{ _id: 'twice', k: 'x' }]);
    await words.deleteOne({ _id: 'twice', k: 'X' }, { collation: simple });
    await restartAndCommit(syncer);
    await pair.assertEqual();
    assert.deepEqual(await copied.find().toArray(), [{ _id: 'twice', k: 'x' }]);
  });

  it('do not stop it while one takes the place of the other', async () => {
    await using syncer = await pair.syncing({});
    for (let _id = 250; _id < 270; _id++) {
      // First the new one, then the old one, as a program does that knows no transactions.
      await source().insertOne({ _id, k: 5_000 + _id });
      await source().deleteOne({ _id, k: _id * 7 });
      await source().updateOne({ _id, k: 5_000 + _id }, { $set: { v: 'moved' } });
    }
    await commitAndWait(syncer);
    await pair.assertEqual();
    assert.equal(await copies().countDocuments({ v: 'moved' }), 20);
  });

  it('are found among changes that were not applied for a while, whichever is left', async () => {
    await using syncer = await pair.syncing({});
    assert.equal((await syncer.post('pause', {})).status, 200);
    for (let _id = 250; _id < 290; _id++) {
      const [first, second] = [_id * 7, 5_000 + _id];
      const [left, gone] = _id % 2 === 0 ? [first, second] : [second, first];
      await source().insertOne({ _id, k: second, v: 'second' });
      await source().updateOne({ _id, k: second }, { $set: { v: 'second, changed' } });
      await source().updateOne({ _id, k: first }, { $set: { v: 'first, changed' } });
      await source().deleteOne({ _id, k: gone });
      if (_id % 4 < 2) continue;
      // Once more, the other way round.
      await source().insertOne({ _id, k: gone, v: 'third' });
      await source().deleteOne({ _id, k: left });
    }
    assert.equal((await syncer.post('resume', {})).status, 200);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
    assert.equal(await copies().countDocuments(), 100);
    assert.equal(await copies().countDocuments({ v: 'third' }), 20);
  });

  it('stop it if a refined shard key lets them be, and a warning remains of the refinement', async () => {
    await source().createIndexes([{ key: { k: 1, l: 1 } }]);
    await source().insertOne({ _id: 'refined', k: 3000, l: 1 });
    await using syncer = await pair.syncing({});
    await pair.admin({ refineCollectionShardKey: 'shop.items', key: { k: 1, l: 1 } });
    await pair.admin({ split: 'shop.items', middle: { k: 3000, l: 5 } });
    await pair.admin({ moveChunk: 'shop.items', find: { k: 3000, l: 5 }, to: 'from-0' });
    const second = { _id: 'refined', k: 3000, l: 7 };
    await source().insertOne(second);
    assert.match(await failureOf(syncer), told('"refined"'));
    await source().deleteOne(second);
    await restartAndCommit(syncer);
    await pair.assertEqual();
    assert.deepEqual(await copies().findOne({ _id: 'refined' }), { ...second, l: 1 });
    const { warnings } = await syncer.progress();
    assert.match(
      warnings?.join() ?? '',
      /the shard key of shop\.items was refined during the sync/,
    );
  });
});
